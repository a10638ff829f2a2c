#include "plan/scheme.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "core/text.h"
#include "plan/low_slots.h"
#include "plan/weight_axis.h"
#include "vernier/error.h"

namespace vernier {
namespace {

const onnx::NodeProto* find_node(const onnx::GraphProto& graph, const std::string& name) {
  const onnx::NodeProto* found = nullptr;
  for_each_graph(graph, [&](const onnx::GraphProto& part) {
    for (const onnx::NodeProto& node : part.node()) {
      if (node.name() == name) found = &node;
    }
  });
  return found;
}

/// What a low format means under a target: ONNX Runtime's integer kernels take asymmetric uint8 activations, and fuse a
/// Relu or Clip only into those.
Format under_target(Format format, const std::string& target) {
  return format == Format::Int8 && target == "onnxruntime" ? Format::UInt8 : format;
}

bool refuse(std::string* reason, std::string why) {
  if (reason != nullptr) *reason = std::move(why);
  return false;
}

std::vector<std::string> names_of(const std::vector<Layer>& layers) {
  std::vector<std::string> names;
  for (const Layer& layer : layers) {
    if (!layer.follows) names.push_back(layer.name);
  }
  return names;
}

/// Absolute maximum of `values` along an axis; one value when axis is -1.
std::vector<float> absmax_along(const Tensor& tensor, int axis) {
  const Shape& shape = tensor.shape();
  const std::int64_t channels = axis < 0 ? 1 : shape.at(static_cast<std::size_t>(axis));
  std::int64_t inner = 1;
  for (std::size_t i = static_cast<std::size_t>(axis + 1); axis >= 0 && i < shape.size(); ++i) inner *= shape[i];
  if (axis < 0) inner = tensor.count();
  std::vector<float> absmax(static_cast<std::size_t>(channels), 0.0F);
  const std::span<const float> values = tensor.floats();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto channel = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % channels);
    absmax[channel] = std::max(absmax[channel], std::abs(values[i]));
  }
  return absmax;
}

/// The first type other than float32 that a layer's data is known to have; float32 when there is none.
Dtype other_float_type(const Layer& layer, const std::map<std::string, ValueType>& types) {
  for (const std::vector<std::string>* names : {&layer.inputs, &layer.weights, &layer.outputs}) {
    for (const std::string& name : *names) {
      const auto type = types.find(name);
      if (type == types.end() || type->second.dtype == Dtype::Undefined) continue;
      if (type->second.dtype != Dtype::Float32) return type->second.dtype;
    }
  }
  return Dtype::Float32;
}

/// Grid of an activation. It may use every code: QuantizeLinear, which a typed model says it with, does not leave one
/// out.
QuantParams activation_params(Format format, const RangeStats& range) {
  if (format == Format::UInt8) return asymmetric_params(range.min, range.max);
  QuantParams params = symmetric_params(format, std::vector<float>{range.absmax()}, -1);
  params.lowest_code = 0;
  return params;
}

/// The format asked for a layer by --layer-precisions, the last match winning.
std::optional<Format> exception_for(const std::string& layer, const PrecisionOptions& precision) {
  std::optional<Format> format;
  for (const auto& [pattern, wanted] : precision.layer_precisions) {
    if (pattern == layer || wildcard_match(pattern, layer)) format = wanted;
  }
  return format;
}

void check_patterns(const std::vector<Layer>& layers, const PrecisionOptions& precision) {
  const std::vector<std::string> names = names_of(layers);
  for (const auto& [pattern, format] : precision.layer_precisions) {
    if (pattern == "*") continue;  // all layers, even where there are none: no name to mistype
    const bool known = std::any_of(layers.begin(), layers.end(), [&](const Layer& layer) {
      return layer.name == pattern || wildcard_match(pattern, layer.name);
    });
    if (known) continue;
    const std::vector<std::string> near = nearest_names(pattern, names);
    throw Error(ErrorKind::Usage, fmt::format("--layer-precisions: no layer is named '{}'", printable(pattern)),
                near.empty() ? "list the layers with: vernier inspect model MODEL --show layers"
                             : "nearest: " + list_some(near));
  }
}

}  // namespace

bool can_take(const Model& model, const Layer& layer, Format format, std::string* reason) {
  if (format == Format::Float32) return true;
  if (layer.follows) return refuse(reason, "it only moves data and follows its inputs");
  if (needs_scale(format)) {
    if (!layer.weighted) return refuse(reason, fmt::format("{} is not an operator of the scheme", layer.op_type));
    if (layer.inputs.empty()) return refuse(reason, "none of its inputs is an activation");
    return true;
  }
  const onnx::NodeProto* node = find_node(model.proto.graph(), layer.name);
  if (node == nullptr) return refuse(reason, "the model has no such node");
  const LowSlots slots = low_slots(*node, layer, default_opset(model.proto), format);
  return slots.refusal.empty() || refuse(reason, slots.refusal);
}

AssignedFormats assign_formats(const Model& model, const std::vector<Layer>& layers,
                               const PrecisionOptions& precision) {
  if (precision.constraints != "none") check_patterns(layers, precision);
  AssignedFormats assigned;
  Plan& plan = assigned.plan;
  plan.model_file = model.path.filename().string();
  plan.model_sha256 = model.sha256;
  plan.scheme = scheme_text(precision);
  plan.target = precision.target;
  plan.high = precision.high;
  std::vector<Format> low = precision.low;
  std::stable_sort(low.begin(), low.end(), [](Format a, Format b) { return bits_of(a) < bits_of(b); });
  const std::map<std::string, ValueType> types = infer_types(model);
  const auto takes = [&](const Layer& layer, Format wanted, std::string* reason = nullptr) {
    if (const Dtype other = other_float_type(layer, types); wanted != Format::Float32 && other != Dtype::Float32) {
      return refuse(reason, fmt::format("it computes in {}", dtype_name(other)));
    }
    return can_take(model, layer, wanted, reason);
  };
  for (const Layer& layer : layers) {
    if (layer.follows) continue;
    const Format high = takes(layer, precision.high) ? precision.high : Format::Float32;
    Format format = high;
    for (const Format listed : low) {
      const Format wanted = under_target(listed, precision.target);
      if (bits_of(wanted) < bits_of(high) && takes(layer, wanted)) {
        format = wanted;
        break;
      }
    }
    bool fixed = false;
    if (std::optional<Format> asked = exception_for(layer.name, precision)) {
      asked = under_target(*asked, precision.target);
      std::string reason;
      if (precision.constraints == "none") {
        assigned.warnings.push_back(fmt::format("--layer-precisions {}:{} is ignored (--precision-constraints none)",
                                                printable(layer.name), format_name(*asked)));
      } else if (takes(layer, *asked, &reason)) {
        format = *asked;
        fixed = true;
      } else if (precision.constraints == "obey") {
        throw Error(ErrorKind::Usage,
                    fmt::format("layer '{}' cannot run in {}: {}", printable(layer.name), format_name(*asked), reason));
      } else {
        assigned.warnings.push_back(fmt::format("layer '{}' runs in {}, not {}: {}", printable(layer.name),
                                                format_name(format), format_name(*asked), reason));
      }
    }
    plan.layers.push_back({layer.name, format});
    if (!fixed && format != high) assigned.candidates.push_back(layer.name);
  }
  return assigned;
}

std::set<std::string> tensors_to_calibrate(const std::vector<Layer>& layers, const Plan& plan) {
  std::set<std::string> tensors;
  for (const Layer& layer : layers) {
    if (!layer.follows && needs_scale(plan.format_of(layer.name))) {
      tensors.insert(layer.inputs.begin(), layer.inputs.end());
    }
  }
  return tensors;
}

std::vector<std::string> calibrate_plan(Plan& plan, const Model& model, const std::vector<Layer>& layers,
                                        const std::map<std::string, RangeStats>& ranges) {
  std::vector<std::string> warnings;
  for (const Layer& layer : layers) {
    const Format format = plan.format_of(layer.name);
    if (layer.follows || !needs_scale(format)) continue;
    for (const std::string& input : layer.inputs) {
      const auto known = ranges.find(input);
      if (known == ranges.end() || known->second.empty()) {
        throw Error(ErrorKind::Input, fmt::format("no range was seen for tensor '{}', which layer '{}' quantizes",
                                                  printable(input), printable(layer.name)));
      }
      const RangeStats& range = known->second;
      if (plan.tensors.contains(input)) continue;
      plan.tensors[input] = activation_params(format, range);
      if (range.nonfinite > 0) {
        warnings.push_back(fmt::format("tensor '{}': {} of {} values are not finite and were left out of its range",
                                       printable(input), range.nonfinite, range.count));
      }
    }
    const onnx::NodeProto* node = find_node(model.proto.graph(), layer.name);
    for (int i = 0; node != nullptr && i < std::min(2, node->input_size()); ++i) {
      const std::string& name = node->input(i);
      if (std::find(layer.weights.begin(), layer.weights.end(), name) == layer.weights.end()) continue;
      if (plan.tensors.contains(name)) continue;
      const std::optional<Tensor> weight = initializer(model, name);
      const int axis = i == 1 ? weight_axis(*node, static_cast<int>(weight->shape().size())) : -1;
      // Weights are int8 whatever the activations are: engines take no other.
      const Format weight_format = format == Format::UInt8 ? Format::Int8 : format;
      plan.tensors[name] = symmetric_params(weight_format, absmax_along(*weight, axis), axis);
    }
  }
  return warnings;
}

std::string scheme_text(const PrecisionOptions& precision) {
  std::string text;
  for (const Format listed : precision.low) {
    const Format format = under_target(listed, precision.target);
    if (!text.empty()) text += "; ";
    if (needs_scale(format)) {
      const bool asymmetric = format == Format::UInt8;
      text += fmt::format(
          "{}: inputs of Conv, ConvTranspose, Gemm, MatMul, {} per tensor ({}), weights {} "
          "symmetric per output channel, bias and outputs in float",
          format_name(format), asymmetric ? "asymmetric" : "symmetric",
          asymmetric ? "minimum and maximum" : "absolute maximum",
          asymmetric ? "int8" : std::string(format_name(format)));
    } else {
      text += fmt::format("{}: all layers that can take it, inputs, weights and outputs rounded, float32 accumulation",
                          format_name(format));
    }
  }
  return fmt::format("{}{} in {}; target {}", text, text.empty() ? "everything" : "; the rest",
                     format_name(precision.high), precision.target);
}

}  // namespace vernier
