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

Outcome remove_dead_nodes(Model& model, const Context&) {
  std::set<std::string> outputs;
  for (const InputInfo& output : model_outputs(model)) outputs.insert(output.name);
  const std::vector<int> needed = nodes_between(model, {}, outputs);
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
  if (dead > 0) outcome.notes.push_back(plural(dead, "node") + " that no output needs removed");
  return outcome;
}

}  // namespace vernier::passes
