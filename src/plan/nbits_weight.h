// The weight that a MatMulNBits of ONNX Runtime (com.microsoft) stores: codes in blocks of neighbouring inputs, packed
// into bytes.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <optional>
#include <string>

#include "model/model.h"
#include "numerics/round.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

struct NBitsWeight {
  Tensor values;       // float32 [K, N]: (code - zero point) * scale
  QuantParams params;  // of them, in blocks along axis 0; format float32 where zero points are no integers
};

/// Of 2, 4 and 8 bits; codes of 2 bits are those of int4 from 4 to 7. Empty for other widths, where a tensor is no
/// constant, and with an order of inputs of its own (g_idx).
std::optional<NBitsWeight> nbits_weight(const Model& model, const onnx::NodeProto& node);

/// Lets `model` compute with these values of a stored constant. A MatMulNBits, whose codes are packed, becomes a
/// MatMul.
void put_float(Model& model, const std::string& constant, const Tensor& values);

/// Whether all codes of one block of a MatMulNBits, in the order of its scales, are the same.
bool holds_one_code(const Model& model, const onnx::NodeProto& node, std::size_t block);

bool has_nbits_weights(const Model& model);

/// What an operator that stores codes (Trait::StoresCodes) has its weight in: uint4 if it has zero points.
Format stored_format(const onnx::NodeProto& node);

}  // namespace vernier
