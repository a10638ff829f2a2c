#include "plan/low_slots.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "plan/type_variables.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Operators that ONNX's checker refuses in types that their schemas admit.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kRefusedByTheChecker{{
    {"MeanVarianceNormalization", "what ONNX defines it by adds a float32 constant"},
    {"LinearAttention", "ONNX defines its state with the type of the query, its schema with a type of its own"},
}};

LowSlots refused(const onnx::NodeProto& node, std::string why) {
  LowSlots slots;
  slots.inputs.resize(static_cast<std::size_t>(node.input_size()));
  slots.outputs.resize(static_cast<std::size_t>(node.output_size()));
  slots.refusal = std::move(why);
  return slots;
}

}  // namespace

LowSlots low_slots(const onnx::NodeProto& node, const Layer& layer, int opset, Format format,
                   const std::function<bool(const std::string&)>& is_float32) {
  const NodeTypes types = node_types(node, opset);
  if (!types.has_schema) {
    if (is_custom(node)) return refused(node, fmt::format("a custom operator, of domain {}", node.domain()));
    return refused(node, fmt::format("ONNX defines no operator {}{}{} at opset {}", node.domain(),
                                     node.domain().empty() ? "" : ".", node.op_type(), opset));
  }
  const auto barred =
      std::ranges::find(kRefusedByTheChecker, node.op_type(), [](const auto& row) { return row.first; });
  if (barred != kRefusedByTheChecker.end()) return refused(node, std::string(barred->second));
  const Dtype dtype = format == Format::BFloat16 ? Dtype::BFloat16 : Dtype::Float16;
  // Data, or a weight of the layer: statistics of a BatchNormalization have type variables of their own.
  const auto on_path = [&](int index) {
    const std::string& input = node.input(index);
    if (!is_float32(input)) return false;
    return carries_data(node, index, opset) || std::ranges::find(layer.weights, input) != layer.weights.end();
  };
  std::set<std::string> changing;
  for (int i = 0; i < node.input_size(); ++i) {
    const TypeSlot& slot = types.inputs[static_cast<std::size_t>(i)];
    if (!slot.variable.empty() && slot.admits.contains(dtype) && on_path(i)) changing.insert(slot.variable);
  }
  LowSlots slots = refused(node, {});
  bool any_output = false;
  for (int i = 0; i < node.output_size(); ++i) {
    const TypeSlot& slot = types.outputs[static_cast<std::size_t>(i)];
    // Cast's output type is its own attribute, which lowering rewrites; of the other operators only outputs bound to an
    // input change.
    const bool changes = node.op_type() == "Cast" ? slot.admits.contains(dtype) : changing.contains(slot.variable);
    const bool low = changes && !node.output(i).empty() && is_float32(node.output(i));
    slots.outputs[static_cast<std::size_t>(i)] = low;
    any_output = any_output || low;
  }
  if (!any_output) {
    for (int i = 0; i < node.input_size(); ++i) {
      if (!node.input(i).empty() && carries_data(node, i, opset) && !is_float32(node.input(i))) {
        return refused(node,
                       fmt::format("the type of its input '{}' is not known to be float32", printable(node.input(i))));
      }
    }
    return refused(node, fmt::format("the schema of {} at opset {} does not admit {} on its data path", node.op_type(),
                                     opset, format_name(format)));
  }
  for (int i = 0; i < node.input_size(); ++i) {
    const std::string& input = node.input(i);
    if (input.empty() || !changing.contains(types.inputs[static_cast<std::size_t>(i)].variable)) continue;
    // A variable may be bound to a tensor that cannot be cast because its type is not float32 or not known.
    if (!is_float32(input)) {
      return refused(node, fmt::format("the type of its input '{}' is not known to be float32", printable(input)));
    }
    slots.inputs[static_cast<std::size_t>(i)] = true;
  }
  return slots;
}

LowSlots low_slots(const onnx::NodeProto& node, const Layer& layer, int opset, Format format) {
  const auto known = [](const std::vector<std::string>& names, const std::string& name) {
    return std::ranges::find(names, name) != names.end();
  };
  std::set<std::string> other_types;  // inputs that are no float tensors for find_layers
  for (int i = 0; i < node.input_size(); ++i) {
    const std::string& name = node.input(i);
    if (carries_data(node, i, opset) && !known(layer.inputs, name) && !known(layer.weights, name)) {
      other_types.insert(name);
    }
  }
  return low_slots(node, layer, opset, format,
                   [&](const std::string& name) { return !name.empty() && !other_types.contains(name); });
}

}  // namespace vernier
