// Quantization parameters and values that a file keeps in constants of QuantizeLinear and DequantizeLinear nodes.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>

#include "model/model.h"
#include "numerics/round.h"

namespace vernier {

/// Scale, zero point, axis and format of a QuantizeLinear or DequantizeLinear. Empty when they are not constant, are
/// blocked, or the integer type has no grid of ours (16 and 32 bits, uint4).
std::optional<QuantParams> quantization_of(const Model& model, const onnx::NodeProto& node);

/// The float32 values of a DequantizeLinear whose input is constant: int8, uint8, int4, float8 and int32 (biases). Empty
/// when the input is no constant or the node is blocked: ONNX Runtime computes those itself.
std::optional<Tensor> dequantized_constant(const Model& model, const onnx::NodeProto& node);

}  // namespace vernier
