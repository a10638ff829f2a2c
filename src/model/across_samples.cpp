#include "model/across_samples.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// What these give for one sample depends on the others: one scale for all, or places among all.
constexpr std::array<std::string_view, 7> kDependOnAll{
    "DynamicQuantizeLinear", "DynamicQuantizeMatMul", "DynamicQuantizeLSTM", "NonZero", "Unique", "Compress",
    "NonMaxSuppression"};
/// Work along attribute `axis`; those that have a default have another one than 0.
constexpr std::array<std::string_view, 12> kAlongAxis{
    "Softmax", "LogSoftmax", "Hardmax", "ArgMax",          "ArgMin", "TopK",
    "CumSum",  "Concat",     "Split",   "LpNormalization", "Gather", "GatherElements"};

std::string of_dimension(const onnx::ValueInfoProto& value, const char* kind, std::string& symbol) {
  const std::string name = printable(value.name());
  if (!value.type().tensor_type().has_shape()) return "";
  const onnx::TensorShapeProto& shape = value.type().tensor_type().shape();
  if (shape.dim_size() == 0) return fmt::format("{} '{}' has no dimension to put samples along", kind, name);
  const auto& first = shape.dim(0);
  if (first.has_dim_value()) {
    return fmt::format("the first dimension of {} '{}' is fixed at {}", kind, name, first.dim_value());
  }
  if (!symbol.empty() && !first.dim_param().empty() && symbol != first.dim_param()) {
    return fmt::format("the first dimensions of inputs are '{}' and '{}'", printable(symbol),
                       printable(first.dim_param()));
  }
  if (!first.dim_param().empty()) symbol = first.dim_param();
  return "";
}

/// The axes that a Reduce of any version names; absent: not known.
std::optional<std::vector<std::int64_t>> axes_of(const Model& model, const onnx::NodeProto& node) {
  if (node.input_size() < 2 || node.input(1).empty()) return attribute_ints(node, "axes");
  const std::optional<Tensor> axes = initializer(model, node.input(1));
  if (!axes || axes->dtype() != Dtype::Int64) return std::nullopt;
  return std::vector<std::int64_t>(axes->int64s().begin(), axes->int64s().end());
}

bool reduces_first(const Model& model, const onnx::NodeProto& node) {
  const auto axes = axes_of(model, node);
  if (!axes) return false;
  if (axes->empty()) return attribute_int(node, "noop_with_empty_axes", 0) == 0;
  return std::ranges::find(*axes, 0) != axes->end();
}

bool reshapes_first(const Model& model, const onnx::NodeProto& node) {
  if (node.input_size() < 2) return false;
  const std::optional<Tensor> shape = initializer(model, node.input(1));
  return shape && shape->dtype() == Dtype::Int64 && shape->count() > 0 && shape->int64s()[0] > 0;
}

/// Whether samples no longer lie along the first dimension behind `node`.
bool moves_first(const onnx::NodeProto& node) {
  if (node.op_type() != "Transpose") return false;
  const std::vector<std::int64_t> order = attribute_ints(node, "perm");
  return order.empty() || order.front() != 0;
}

/// What `node` does to the first dimension of `data`; empty: nothing that is seen. `moved`: samples lie elsewhere.
std::string_view fault_of(const Model& model, const onnx::NodeProto& node, const std::set<std::string>& data,
                          bool moved) {
  const std::string& op = node.op_type();
  if (std::ranges::any_of(node.attribute(), [](const auto& attribute) { return attribute.has_g(); })) {
    return "has a body, which all samples share";
  }
  if (has(node, Trait::Random)) return "returns other values every time";
  if (std::ranges::find(kDependOnAll, op) != kDependOnAll.end()) return "depends on all samples at once";
  if (!of_onnx(node) || moved) return "";
  const auto* axis = find_attribute(node, "axis");
  const bool along = std::ranges::find(kAlongAxis, op) != kAlongAxis.end();
  // What ArgMax and the gathering ones do without an attribute is along the first.
  const bool gathers = op.starts_with("Gather");
  const bool first_by_default = gathers || op == "ArgMax" || op == "ArgMin" || op == "Split";
  const bool of_table = gathers && !data.contains(node.input(0));  // the indices are the data
  if (along && !of_table && (axis == nullptr ? first_by_default : axis->i() == 0))
    return "works along the first dimension";
  if (op.starts_with("Reduce") && reduces_first(model, node)) return "reduces the first dimension";
  if (op == "Reshape" && reshapes_first(model, node)) return "reshapes to a fixed first dimension";
  return "";
}

}  // namespace

std::string works_across_samples(const Model& model) {
  const onnx::GraphProto& graph = model.proto.graph();
  const std::vector<std::string> inputs = input_names(model);
  std::set<std::string> data(inputs.begin(), inputs.end());
  std::set<std::string> moved;  // behind a Transpose: where samples lie is known to runs alone
  std::string symbol;
  for (const onnx::ValueInfoProto& input : graph.input()) {
    if (!data.contains(input.name())) continue;
    if (std::string why = of_dimension(input, "input", symbol); !why.empty()) return why;
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    std::string any;  // exporters call the same dimension otherwise here
    if (std::string why = of_dimension(output, "output", any); !why.empty()) return why;
  }
  for (const onnx::NodeProto& node : graph.node()) {
    if (has(node, Trait::ReadsShape) && !has(node, Trait::Random)) continue;  // sizes may be picked apart
    const std::set<std::string> reads = tensors_read(node);
    const bool random = has(node, Trait::Random);
    const bool of_data = std::ranges::any_of(reads, [&](const std::string& name) { return data.contains(name); });
    if (!of_data && !random) continue;
    const bool behind = std::ranges::any_of(reads, [&](const std::string& name) { return moved.contains(name); });
    if (const std::string_view fault = fault_of(model, node, data, behind); !fault.empty()) {
      return fmt::format("{} '{}' {}", node.op_type(), printable(node.name()), fault);
    }
    data.insert(node.output().begin(), node.output().end());
    if (behind || moves_first(node)) moved.insert(node.output().begin(), node.output().end());
  }
  return "";
}

}  // namespace vernier
