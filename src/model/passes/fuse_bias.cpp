
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

/// `value` as one float for each of `channels`, when it is that along `axis` counted from the end and 1 elsewhere.
std::optional<Tensor> per_channel(const Tensor& value, std::int64_t channels, std::size_t axis_from_end) {
  if (value.dtype() != Dtype::Float32 || value.count() != channels) return std::nullopt;
  const Shape& shape = value.shape();
  if (shape.size() < axis_from_end) return std::nullopt;
  if (shape[shape.size() - axis_from_end] != channels) return std::nullopt;
  return Tensor::of({channels}, value.floats());
}

}  // namespace

Outcome fuse_bias(Model& model, const Context&) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const std::map<std::string, int> readers = count_readers(model);
  const std::set<std::string> outputs = all_graph_outputs(model);
  const std::map<std::string, ValueType> types = infer_types(model);
  std::map<std::string, onnx::NodeProto*> maker;
  std::set<std::string> gone;
  NamePool names(model);
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (const std::string& output : node.output()) maker[output] = &node;
    if (!is_onnx(node, "Add") || node.input_size() != 2) continue;
    for (int side = 0; side < 2; ++side) {
      const auto found = maker.find(node.input(side));
      const std::optional<Tensor> constant = initializer(model, node.input(1 - side));
      if (found == maker.end() || !constant) continue;
      onnx::NodeProto& before = *found->second;
      if (readers.at(node.input(side)) != 1 || outputs.contains(node.input(side)) || gone.contains(before.name())) {
        continue;
      }
      const bool conv = is_onnx(before, "Conv") && before.input_size() == 2;
      const bool product = is_onnx(before, "MatMul");
      if (!conv && !product) continue;
      const std::optional<Tensor> weight = initializer(model, before.input(1));
      if (!weight || weight->dtype() != Dtype::Float32) continue;
      std::optional<Tensor> bias;
      if (conv) bias = per_channel(*constant, weight->shape()[0], weight->shape().size() - 1);
      const auto type = types.find(before.input(0));
      const bool matrix = type != types.end() && type->second.rank_known && type->second.shape.size() == 2;
      if (product && matrix && weight->shape().size() == 2) bias = per_channel(*constant, weight->shape()[1], 1);
      if (!bias) continue;
      const std::string name = names.unique(before.name() + "/bias");
      add_initializer(model, graph, name, *bias);
      if (product) before.set_op_type("Gemm");
      before.add_input(name);
      before.set_output(0, node.output(0));
      maker[node.output(0)] = &before;
      gone.insert(node.name());
      break;
    }
  }
  remove_nodes(graph, [&](const onnx::NodeProto& node) { return gone.contains(node.name()); });
  remove_leftovers(model);
  Outcome outcome;
  if (!gone.empty()) outcome.notes.push_back({"adds-made-biases", {{"count", gone.size()}}});
  outcome.changed_arithmetic = !gone.empty();
  return outcome;
}

}  // namespace vernier::passes
