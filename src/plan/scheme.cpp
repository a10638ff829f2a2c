#include "plan/scheme.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/format_definition.h"
#include "plan/target.h"
#include "vernier/tensor.h"

namespace vernier {

bool only_where_faster(const PrecisionOptions& precision) {
  const bool chosen = !precision.selection.op_types.empty() || !precision.selection.nodes.empty();
  if (precision.even_if_slower || chosen || precision.rules.weights_only) return false;
  return std::ranges::any_of(precision.low, [&](Format listed) {
    return needs_scale(listed) &&
           scaled_scheme(precision.target, under_target(listed, precision.target)).integer_kernels;
  });
}

std::set<Format> formats_named(const PrecisionOptions& precision) {
  std::set<Format> formats(precision.low.begin(), precision.low.end());
  formats.insert(precision.high);
  if (precision.rules.kv_cache) formats.insert(*precision.rules.kv_cache);
  for (const auto& [pattern, format] : precision.layer_precisions) formats.insert(format);
  for (const LayerSetting& setting : precision.layer_settings) {
    if (setting.precision) formats.insert(*setting.precision);
  }
  return formats;
}

int opset_of_rules(const PrecisionOptions& precision) {
  return precision.rules.weights_only && precision.high != Format::Float32 ? 19 : 0;
}

/// OpenVINO's kernels for quantized products go wrong with a factor behind them, and without a bias.
bool quantizes_for_openvino(Target target, const std::set<Format>& formats) {
  return target == Target::OpenVino && std::ranges::any_of(formats, needs_scale);
}

PrepareOptions preparation_of(const PrecisionOptions& precision) {
  PrepareOptions options;
  options.formats = formats_named(precision);
  options.for_openvino = precision.target == Target::OpenVino;
  options.weights_per_channel = precision.rules.weights_per_channel;
  options.enter_caches = precision.rules.kv_cache.has_value();
  options.openvino_products = quantizes_for_openvino(precision.target, options.formats);
  return options;
}

PrepareOptions preparation_of(const Plan& plan) {
  PrecisionOptions precision;
  precision.rules = plan.rules;
  precision.high = plan.high;
  PrepareOptions options;
  options.formats = {plan.high};
  options.for_openvino = plan.target == Target::OpenVino;
  for (const PlannedLayer& layer : plan.layers) options.formats.insert(layer.format);
  for (const auto& [tensor, params] : plan.tensors) options.formats.insert(params.format);
  for (const auto& [tensor, grids] : plan.other_grids) {
    for (const auto& [format, params] : grids) options.formats.insert(params.format);
  }
  options.weights_per_channel = plan.rules.weights_per_channel;
  options.enter_caches = plan.rules.kv_cache.has_value();
  options.openvino_products = quantizes_for_openvino(plan.target, options.formats);
  options.min_opset = opset_of_rules(precision);
  return options;
}

std::map<std::string, std::string> layers_of_other_types(const Model& model, const std::vector<Layer>& layers) {
  const std::map<std::string, ValueType> types = infer_types(model);
  std::map<std::string, std::string> found;
  for (const Layer& layer : layers) {
    const Dtype other = other_float_type(layer, types);
    if (other != Dtype::Float32) found.emplace(layer.name, dtype_name(other));
  }
  return found;
}

}  // namespace vernier
