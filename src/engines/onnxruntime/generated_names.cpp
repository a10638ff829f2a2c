#include "engines/onnxruntime/generated_names.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>

#include "model/model.h"

namespace vernier {
namespace {

/// Functions such as HardSwish become primitives, whose tensors begin with "_inlfunc_"; MatMulAddFusion stores shapes
/// (seen with 1.31.1).
bool is_generated(std::string_view name) {
  constexpr std::array<std::string_view, 3> kBeginnings{"_inlfunc_", "gemm_input_shape", "gemm_output_shape"};
  return std::ranges::any_of(kBeginnings, [&](std::string_view beginning) { return name.starts_with(beginning); });
}

}  // namespace

void rename_generated(onnx::GraphProto& graph, const std::map<std::string, Tensor>& weights) {
  std::map<std::string, std::string> names;
  const auto consider = [&](const std::string& name) {
    if (is_generated(name)) names.emplace(name, "given/" + name);
  };
  for (const onnx::TensorProto& tensor : graph.initializer()) consider(tensor.name());
  for (const onnx::NodeProto& node : graph.node()) std::ranges::for_each(node.output(), consider);
  for (const onnx::ValueInfoProto& input : graph.input()) names.erase(input.name());
  for (const auto& [name, weight] : weights) names.erase(name);
  if (names.empty()) return;
  const auto rename = [&](std::string& name) {
    if (const auto found = names.find(name); found != names.end()) name = found->second;
  };
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) rename(*tensor.mutable_name());
  for (auto* values : {graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& value : *values) rename(*value.mutable_name());
  }
  for_each_graph(graph, [&](onnx::GraphProto& any) {
    for (onnx::NodeProto& node : *any.mutable_node()) {
      std::ranges::for_each(*node.mutable_input(), rename);
      std::ranges::for_each(*node.mutable_output(), rename);
    }
    if (&any == &graph) return;
    for (onnx::ValueInfoProto& output : *any.mutable_output()) rename(*output.mutable_name());
  });
}

}  // namespace vernier
