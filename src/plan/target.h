// What each target runs in a scaled format, as a table: the one home of that list. Who takes int8 (scheme.h), where
// Q/DQ pairs go (placement.h) and the line that reports print are all read from it; another target, or an operator that
// a target learns, is a line here.
#pragma once

#include <onnx/onnx_pb.h>

#include <span>
#include <string>
#include <string_view>

#include "vernier/format.h"
#include "vernier/target.h"

namespace vernier {

/// What happens to the result of an operator that runs in a scaled format.
enum class ResultGrid {
  Float,       // nothing: the kernel gives float
  Calibrated,  // quantized to the range seen in calibration: the kernel gives codes only
  Unit,        // quantized to steps of 1/256 from zero on: values in [0, 1], whatever was seen
  Either       // the kernel gives codes or float: quantized when a layer reads codes, else left in float
};

struct ScaledOperator {
  std::string_view op_type;
  ResultGrid result = ResultGrid::Float;
};

struct ScaledScheme {
  std::span<const ScaledOperator> operators;
  /// Weights alone are quantized: stored in the format, read through a DequantizeLinear.
  bool weights_only = false;
  /// The second operand has to be a constant.
  bool constant_weights = false;
  /// Results are quantized, data-moving operators between quantized tensors move codes, a bias is stored as int32, and
  /// a Relu or Clip behind an operator is part of it.
  bool integer_kernels = false;
  /// Weights with one scale may have a zero point.
  bool weights_off_zero = false;
  /// Why an operator with weights that is not in the table is not; empty when there is nothing to add.
  std::string_view absent = {};
  /// Operators whose float weights the engine quantizes by itself when its data comes from codes and goes to codes: a
  /// layer that is to stay float must not be seen between them.
  std::span<const std::string_view> requantized = {};

  /// Null when the scheme does not have the operator.
  const ScaledOperator* find(std::string_view op_type) const;
};

/// The scheme of `format` (one with a scale) under a target. `weights_only`:
/// weights alone are quantized, which of int4, uint4, mxfp4 and mxfp8e5m2 is always so.
const ScaledScheme& scaled_scheme(Target target, Format format, bool weights_only = false);

/// Why the engines of a target do not run a node in a format without a scale (float16, bfloat16), as their own
/// compilers say; empty when nothing is known against it. `holder`: the operator whose body has the node; empty: none.
std::string_view no_float_kernel(Target target, Format format, const onnx::NodeProto& node, std::string_view holder);

/// Why TensorRT's result of an operator of float16 or bfloat16 is not that of float32, rounded once: it computes it in
/// steps that leave the format. Empty: no such thing is known.
std::string_view steps_in_half(const onnx::NodeProto& node);

/// What a low format means under a target: kernels of ONNX Runtime and OpenVINO take asymmetric activations, uint8 or
/// uint16.
Format under_target(Format format, Target target, bool weights_only = false);

/// Names of the operators of a scheme: "Conv, ConvTranspose, Gemm, MatMul".
std::string operators_text(const ScaledScheme& scheme);

}  // namespace vernier
