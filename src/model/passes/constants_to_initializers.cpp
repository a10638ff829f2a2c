#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

/// The value of a Constant; nullopt for strings and sparse tensors, which stay nodes.
std::optional<Tensor> value_of(const onnx::NodeProto& node) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.name() == "value" && attribute.t().data_type() != onnx::TensorProto::STRING) {
      return tensor_of(attribute.t());
    }
    if (attribute.name() == "value_float") return Tensor::of({}, std::vector<float>{attribute.f()});
    if (attribute.name() == "value_int") return Tensor::of_int64({}, std::vector<std::int64_t>{attribute.i()});
    if (attribute.name() == "value_floats") {
      return Tensor::of({attribute.floats_size()},
                        {attribute.floats().data(), static_cast<std::size_t>(attribute.floats_size())});
    }
    if (attribute.name() == "value_ints") {
      const std::vector<std::int64_t> values(attribute.ints().begin(), attribute.ints().end());
      return Tensor::of_int64({attribute.ints_size()}, values);
    }
  }
  return std::nullopt;
}

}  // namespace

std::set<std::string> outputs_left_alone(const Model& model, const FoldLimits& limits) {
  std::set<std::string> outputs = all_graph_outputs(model);
  if (!limits.outputs) return outputs;
  for (const std::string& name : output_names(model)) outputs.erase(name);
  return outputs;
}

Outcome constants_to_initializers(Model& model, const Context& context) {
  const std::set<std::string> outputs = outputs_left_alone(model, context.fold);
  int constants = 0;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    std::set<std::string> moved;
    for (const onnx::NodeProto& node : graph.node()) {
      if (!is_onnx(node, "Constant") || node.output_size() != 1 || outputs.contains(node.output(0))) continue;
      const std::optional<Tensor> value = value_of(node);
      if (!value) continue;
      add_initializer(model, graph, node.output(0), *value);
      moved.insert(node.name());
    }
    constants += static_cast<int>(moved.size());
    remove_nodes(graph, [&](const onnx::NodeProto& node) { return moved.contains(node.name()); });
  });

  // Parents come first and nodes are sorted, so that a chain of Identities collapses in one walk.
  const std::set<std::string> initializers = initializer_names(model);
  const std::set<std::string> all_outputs = all_graph_outputs(model);
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    std::set<std::string> gone;
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto node = graph.node(i);
      if (!is_onnx(node, "Identity") || node.input_size() != 1 || node.output_size() != 1) continue;
      if (!initializers.contains(node.input(0)) || all_outputs.contains(node.output(0))) continue;
      rename_reads(graph, node.output(0), node.input(0));
      gone.insert(node.name());
    }
    remove_nodes(graph, [&](const onnx::NodeProto& node) { return gone.contains(node.name()); });
  });

  Outcome outcome;
  if (constants > 0) outcome.notes.push_back({"constants-made-initializers", {{"count", constants}}});
  return outcome;
}

}  // namespace vernier::passes
