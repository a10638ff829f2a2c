// Quantization parameters and values that a file keeps in constants of QuantizeLinear and DequantizeLinear nodes.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>
#include <vector>

#include "model/model.h"
#include "numerics/tensor_grid.h"
#include "vernier/tensor.h"

namespace vernier {

/// Scale, zero point, axis and format of a QuantizeLinear or DequantizeLinear. `codes` is the type of the quantized
/// tensor (output of the one, input of the other): it tells the integer type where no zero point does, and the rank
/// that a negative axis counts from. Empty when the parameters are not constant, are none that Round takes (blocks of
/// what is no constant, a scale that is zero, negative or not finite; float8 that does not saturate; a rank that is not
/// known), or the integer type has no grid of ours (32 bits): ONNX Runtime computes those nodes itself.
std::optional<QuantParams> quantization_of(const Model& model, const onnx::NodeProto& node, const ValueType& codes);

/// The values of a scale in float32, float16 or bfloat16.
std::vector<float> scales_of(const Tensor& scale);

/// The float32 values of a DequantizeLinear whose input is constant, int32 biases among them. Empty when the input is
/// no constant, or for other than biases when quantization_of() is empty.
std::optional<Tensor> dequantized_constant(const Model& model, const onnx::NodeProto& node);

}  // namespace vernier
