#include "options/rules_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier::cli {
namespace {

/// TensorRT adds a residual in these.
bool is_residual_format(Format format) {
  return format == Format::Int8 || format == Format::Float8E4M3FN || format == Format::Float8E5M2;
}

}  // namespace

void apply_reduce_range(bool reduce_range, PrecisionOptions& precision) {
  if (!reduce_range) return;
  if (precision.target == Target::TensorRt) {
    throw Error(ErrorCode::WithoutEffect, "--reduce-range has no effect for TensorRT, which sums products in 32 bits",
                "leave it out, or choose --target onnxruntime");
  }
  const bool eight = std::ranges::any_of(precision.low, [](Format format) {
    return format == Format::Int8 || format == Format::UInt8 || format == Format::DynamicInt8;
  });
  if (!eight || precision.rules.weights_only) {
    throw Error(ErrorCode::WithoutEffect, "--reduce-range has no effect without INT8 weights and UINT8 activations",
                "add --int8");
  }
  precision.rules.reduce_range = true;
}

void check_weight_bits(const PrecisionOptions& precision) {
  const int bits = precision.rules.weight_bits;
  if (bits == 8) return;
  if (bits != 4) throw Error(ErrorCode::BadValue, fmt::format("--weight-bits {}: weights have 8 bits or 4", bits));
  const bool wide = std::ranges::any_of(
      precision.low, [](Format format) { return format == Format::Int16 || format == Format::UInt16; });
  if (wide) return;
  throw Error(ErrorCode::WithoutEffect, "--weight-bits 4: no activation is stored in 16 bits",
              "add --int16, or --int4 for weights alone");
}

void apply_residuals(bool residuals, PrecisionOptions& precision) {
  if (!residuals) return;
  if (precision.target != Target::TensorRt) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("--quantize-residuals belongs to --target tensorrt, not to {}", word_of(precision.target)),
                precision.target == Target::OnnxRuntime ? "--target onnxruntime always quantizes both inputs of an Add"
                                                        : "leave it out");
  }
  const bool scaled = std::ranges::any_of(precision.low, [](Format format) { return is_residual_format(format); });
  if (precision.rules.weights_only || !scaled) {
    throw Error(ErrorCode::WithoutEffect, "--quantize-residuals: no activation is quantized", "add --int8 or --fp8");
  }
  std::vector<std::string>& op_types = precision.selection.op_types;
  if (op_types.empty()) op_types = {"*"};
  op_types.emplace_back("Add");
}

}  // namespace vernier::cli
