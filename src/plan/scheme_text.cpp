// The line for people that says what a plan does.
#include <fmt/format.h>

#include <string>

#include "plan/scheme.h"
#include "plan/skip_branch.h"
#include "plan/target.h"
#include "vernier/calibration.h"
#include "vernier/format.h"

namespace vernier {
namespace {

bool is_eight_bits(Format format) { return format == Format::Int8 || format == Format::UInt8; }

std::string scaled_text(Format format, const PrecisionOptions& precision, const std::string& ranges_from) {
  const QuantizationRules& rules = precision.rules;
  const ScaledScheme& scheme = scaled_scheme(precision.target, format, rules.weights_only);
  const std::string along = std::string(rules.weights_per_channel ? "per output channel" : "per tensor") +
                            (rules.reduce_range && is_eight_bits(format) ? " in 7 bits" : "");
  if (scheme.weights_only) {
    return fmt::format("{}: weights of {} alone, symmetric {}, computed in {}", format_name(format),
                       operators_text(scheme),
                       format == Format::Int4 ? fmt::format("in blocks of {} values", rules.block_size) : along,
                       format_name(precision.high));
  }
  const bool codes_from_zero = format == Format::UInt8;
  const bool asymmetric = codes_from_zero && !rules.symmetric_activations.value_or(false);
  const bool integer_bias = rules.integer_bias.value_or(scheme.integer_kernels);
  std::string text = fmt::format(
      "{}: {} of {}{}, {} per tensor ({}), weights {} symmetric {}, ", format_name(format),
      scheme.integer_kernels ? "inputs and outputs" : "inputs",
      operators_text(scheme) + (only_where_faster(precision) ? " where that saves time" : ""),
      names_add(precision) && precision.target == Target::TensorRt ? ", and skip branches of residual Adds" : "",
      asymmetric ? "asymmetric" : "symmetric",
      ranges_from.empty() ? method_text(precision.calibration, !asymmetric) : ranges_from,
      codes_from_zero ? "int8" : std::string(format_name(format)), along);
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
                : fmt::format("{}: all layers that can take it, inputs, weights and outputs rounded, {}",
                              format_name(format),
                              precision.arithmetic.accumulate == Accumulate::Float16
                                  ? "sums of Conv rounded as TensorRT-RTX was measured to"
                                  : "float32 accumulation");
  }
  const char* const read_as = precision.arithmetic.tf32 && precision.high == Format::Float32 ? " (TF32)" : "";
  return fmt::format("{}{} in {}{}; target {}", text, text.empty() ? "everything" : "; the rest",
                     format_name(precision.high), read_as, word_of(precision.target));
}

}  // namespace vernier
