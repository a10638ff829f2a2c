#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/passes/pass.h"
#include "model/subgraph.h"
#include "vernier/samples.h"

namespace vernier::passes {

Outcome remove_dead_nodes(Model& model, const Context&) { return keep_nodes_for(model, {}); }

Outcome keep_nodes_for(Model& model, std::set<std::string> wanted) {
  for (const InputInfo& output : model_outputs(model)) wanted.insert(output.name);
  const std::vector<int> needed = nodes_between(model, {}, wanted);
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const std::size_t dead = static_cast<std::size_t>(graph.node_size()) - needed.size();
  if (dead > 0) {
    google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
    nodes.Reserve(static_cast<int>(needed.size()));
    for (const int index : needed) nodes.Add()->Swap(graph.mutable_node(index));
    graph.mutable_node()->Swap(&nodes);
  }
  remove_leftovers(model);
  Outcome outcome;
  if (dead > 0) outcome.notes.push_back({"dead-nodes-removed", {{"count", dead}}});
  return outcome;
}

}  // namespace vernier::passes
