// The line for people that says what a plan does.
#include <fmt/format.h>

#include <string>

#include "base/format_definition.h"
#include "numerics/grid.h"
#include "plan/scheme.h"
#include "plan/skip_branch.h"
#include "plan/target.h"
#include "plan/weight_blocks.h"
#include "vernier/calibration.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// How a weight is scaled: "in blocks of 32 values", "per output channel in 7 bits".
std::string weights_text(Format format, const QuantizationRules& rules) {
  if (const int block = block_wanted(format, rules); block > 0) return fmt::format("in blocks of {} values", block);
  const bool reduced = rules.reduce_range && weight_format(format, rules) == Format::Int8;
  return std::string(rules.weights_per_channel ? "per output channel" : "per tensor") + (reduced ? " in 7 bits" : "");
}

/// What becomes of the activations of a format that quantizes with the scales of each run.
std::string scales_of_runs(const FormatDefinition& format, const std::string& ranges) {
  if (format.block == 0) return "per tensor with the scale of each run, asymmetric";
  std::string text = fmt::format("in blocks of {} values with the scales of each run", format.block);
  if (is_calibrated(format)) text += fmt::format(", and one for the tensor ({})", ranges);
  return text;
}

std::string scaled_text(Format format, const PrecisionOptions& precision, const std::string& ranges_from) {
  const QuantizationRules& rules = precision.rules;
  const FormatDefinition& definition = definition_of(format);
  const ScaledScheme& scheme = scaled_scheme(precision.target, format, rules.weights_only);
  if (scheme.operators.empty()) return fmt::format("{}: no layer, {}", definition.name, scheme.absent);
  if (scheme.weights_only) {
    return fmt::format("{}: weights of {} alone, {} {}, computed in {}", definition.name, operators_text(scheme),
                       is_unsigned(format) ? "asymmetric" : "symmetric", weights_text(format, rules),
                       format_name(precision.high));
  }
  const bool asymmetric = is_unsigned(format) && !rules.symmetric_activations.value_or(false);
  const bool integer_bias = rules.integer_bias.value_or(scheme.integer_kernels);
  const std::string ranges = ranges_from.empty() ? method_text(precision.calibration, !asymmetric) : ranges_from;
  std::string text = fmt::format(
      "{}: {} of {}{}, {}, weights {} symmetric {}, ", definition.name,
      scheme.integer_kernels ? "inputs and outputs" : "inputs",
      operators_text(scheme) + (only_where_faster(precision) ? ", if that saves time" : ""),
      names_add(precision) && precision.target == Target::TensorRt ? ", and skip branches of residual Adds" : "",
      definition.dynamic ? scales_of_runs(definition, ranges)
                         : fmt::format("{} per tensor ({})", asymmetric ? "asymmetric" : "symmetric", ranges),
      format_name(weight_format(format, rules)), weights_text(format, rules));
  if (!scheme.integer_kernels)
    return text + (integer_bias ? "bias int32, outputs in float" : "bias and outputs in float");
  return text + fmt::format(
                    "bias {}, Relu and Clip with the operator before them, data-moving operators on its values; "
                    "ConvTranspose has no integer kernel",
                    integer_bias ? "int32" : "in float");
}

}  // namespace

std::string scheme_text(const PrecisionOptions& precision, const std::string& ranges_from) {
  std::string text;
  for (const Format listed : precision.low) {
    const Format format = under_target(listed, precision.target, precision.rules.weights_only);
    if (!text.empty()) text += "; ";
    text += needs_scale(format)
                ? scaled_text(format, precision, ranges_from)
                : fmt::format("{}: every layer that supports it, with inputs, weights and outputs rounded, {}",
                              format_name(format),
                              precision.arithmetic.accumulate == Accumulate::Float16
                                  ? "sums of Conv rounded as TensorRT-RTX was measured to"
                                  : "float32 accumulation");
  }
  if (precision.rules.kv_cache) {
    if (!text.empty()) text += "; ";
    text += fmt::format("KV caches {}", format_name(*precision.rules.kv_cache));
  }
  const char* const read_as = precision.arithmetic.tf32 && precision.high == Format::Float32 ? " (TF32)" : "";
  return fmt::format("{}{} in {}{}; target {}", text, text.empty() ? "everything" : "; the rest",
                     format_name(precision.high), read_as, word_of(precision.target));
}

}  // namespace vernier
