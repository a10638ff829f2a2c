#include "plan/can_take.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <string_view>

#include "base/format_definition.h"
#include "base/text.h"
#include "model/graph_edit.h"
#include "plan/low_slots.h"
#include "plan/storable_weight.h"
#include "plan/target.h"
#include "plan/weight_blocks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool all_finite(const Tensor& constant) {
  return constant.dtype() != Dtype::Float32 ||
         std::ranges::all_of(constant.floats(), [](float value) { return std::isfinite(value); });
}

/// A data input that comes from within the body that holds the layer, not from the main graph; null when none does.
const std::string* made_in_body(const Model& model, const Layer& layer) {
  if (layer.graph.empty()) return nullptr;
  std::set<std::string> outside;
  for (const onnx::ValueInfoProto& input : model.proto.graph().input()) outside.insert(input.name());
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    outside.insert(node.output().begin(), node.output().end());
  }
  const auto inner =
      std::ranges::find_if(layer.inputs, [&](const std::string& tensor) { return !outside.contains(tensor); });
  return inner == layer.inputs.end() ? nullptr : &*inner;
}

bool dilates(const onnx::NodeProto& node) {
  return std::ranges::any_of(attribute_ints(node, "dilations"), [](std::int64_t dilation) { return dilation != 1; });
}

}  // namespace

bool can_take(const Model& model, const Layer& layer, Format format, Target target, std::string* reason,
              const QuantizationRules& rules) {
  if (format == Format::Float32) return true;
  return can_take(model, layer, find_node(model.proto.graph(), layer.name), format, target, reason, rules);
}

bool can_take(const Model& model, const Layer& layer, const onnx::NodeProto* node, Format format, Target target,
              std::string* reason, const QuantizationRules& rules) {
  if (format == Format::Float32) return true;
  if (layer.follows) return refuse(reason, "it only moves data and follows its inputs");
  if (layer.cache && rules.kv_cache && needs_scale(format)) {
    return format == *rules.kv_cache || refuse(reason, "‹kv-cache› says another format");
  }
  if (needs_scale(format)) {
    if (target == Target::TensorRt && format == Format::UInt8 && !rules.weights_only) {
      return refuse(reason, "TensorRT refuses zero points (compiled, TensorRT-RTX 1.7.1)");
    }
    const ScaledScheme& scheme = scaled_scheme(target, format, rules.weights_only);
    const ScaledOperator* const row = scheme.find(layer.op_type);
    if (row == nullptr) {
      const bool explain = layer.weighted && !scheme.absent.empty();
      return refuse(reason, fmt::format("{} is not an operator of the scheme{}{}", layer.op_type, explain ? ": " : "",
                                        explain ? scheme.absent : ""));
    }
    if (layer.inputs.empty()) return refuse(reason, "none of its inputs is an activation");
    if (target == Target::OnnxRuntime && layer.op_type == "AveragePool" && node != nullptr && dilates(*node)) {
      return refuse(reason, "ONNX Runtime's integer AveragePool does not support dilations");
    }
    if (const std::string* inner = made_in_body(model, layer); inner != nullptr && !scheme.weights_only) {
      return refuse(reason, fmt::format("its input '{}' is made inside the body of '{}', where no range is measured",
                                        printable(*inner), printable(layer.graph)));
    }
    const bool gives_codes = row->result == ResultGrid::Calibrated || row->result == ResultGrid::Unit;
    if (gives_codes && scheme.integer_kernels && !layer.graph.empty()) {
      return refuse(reason, fmt::format("its result is made inside the body of '{}', where no range is measured",
                                        printable(layer.graph)));
    }
    for (const std::string& name : layer.weights) {
      if (all_finite(*initializer(model, name))) continue;
      return refuse(reason, fmt::format("its constant '{}' holds values that are not finite", printable(name)));
    }
    const bool stored = scheme.weights_only || scheme.constant_weights || weight_format(format, rules) == Format::Int4;
    if (stored && !can_store_weight(model, node, format, target, rules, reason)) return false;
    return scheme.weights_only || !definition_of(format).dynamic || can_quantize_in_runs(model, *node, format, reason);
  }
  if (node == nullptr) return refuse(reason, "the model has no such node");
  const onnx::NodeProto* const holder = layer.graph.empty() ? nullptr : find_node(model.proto.graph(), layer.graph);
  const std::string_view held = holder == nullptr ? "" : std::string_view(holder->op_type());
  if (const std::string_view why = no_float_kernel(target, format, *node, held); !why.empty()) {
    return refuse(reason, std::string(why));
  }
  const LowSlots slots = low_slots(*node, layer, default_opset(model.proto), format);
  return slots.refusal.empty() || refuse(reason, slots.refusal);
}

}  // namespace vernier
