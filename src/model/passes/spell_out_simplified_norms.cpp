#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "model/passes/pass.h"
#include "model/pieces.h"
#include "vernier/tensor.h"

namespace vernier::passes {
namespace {

bool can_be_spelled_out(const Model& model, const onnx::NodeProto& node,
                        const std::map<std::string, ValueType>& types) {
  const bool one_output = node.output_size() == 1 || (node.output_size() > 1 && node.output(1).empty());
  if (node.input_size() != 2 || !one_output) return false;
  const auto data = types.find(node.input(0));
  const Dtype dtype = data == types.end() ? Dtype::Undefined : data->second.dtype;
  if (dtype != Dtype::Undefined && dtype != Dtype::Float32) return false;
  const std::optional<Tensor> scale = initializer(model, node.input(1));
  return attribute_int(node, "axis", -1) == -1 && scale && scale->dtype() == Dtype::Float32;
}

}  // namespace

Outcome spell_out_simplified_norms(Model& model, const Context& /*context*/) {
  constexpr int kAxesAreAnInput = 18;
  const int opset = default_opset(model.proto);
  std::map<std::string, ValueType> types;
  bool looked = false;
  NamePool names(model);
  std::size_t count = 0;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (int i = 0; i < graph.node_size(); ++i) {
      const onnx::NodeProto node = graph.node(i);
      if (!is_onnx(node, "SimplifiedLayerNormalization")) continue;
      if (!std::exchange(looked, true)) types = infer_types(model);
      if (!can_be_spelled_out(model, node, types)) continue;
      Pieces pieces(model, graph, node, names);
      const std::string& data = node.input(0);
      const std::string squares = pieces.add("Mul", {data, data});
      std::vector<std::string> averaged{squares};
      if (opset >= kAxesAreAnInput)
        averaged.push_back(pieces.constant("/axes", Tensor::of_int64({1}, std::vector<std::int64_t>{-1})));
      const std::string mean = pieces.add("ReduceMean", averaged);
      if (opset < kAxesAreAnInput) set_attribute(pieces.last(), "axes", std::vector<std::int64_t>{-1});
      const float epsilon = attribute_float(node, "epsilon", 1e-5F);
      const std::string above =
          pieces.add("Add", {mean, pieces.constant("/epsilon", Tensor::of({}, std::vector<float>{epsilon}))});
      const std::string normalized = pieces.add("Div", {data, pieces.add("Sqrt", {above})});
      pieces.add("Mul", {normalized, node.input(1)});
      std::vector<onnx::NodeProto> made = pieces.finish();
      const auto added = static_cast<int>(made.size()) - 1;
      replace_node(graph, i, std::move(made));
      i += added;
      ++count;
    }
  });
  Outcome outcome;
  if (count == 0) return outcome;
  outcome.notes.push_back({"simplified-norms-spelled-out", {{"count", count}}});
  outcome.changed_arithmetic = true;
  return outcome;
}

}  // namespace vernier::passes
