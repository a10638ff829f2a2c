// Weights in blocks: neighbours along the dimension that a product sums over, which share a scale.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>

#include "numerics/round.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/tensor.h"

namespace vernier {

/// Dimension of a weight of rank 2 that a Gemm or MatMul sums over, and that blocks lie along; -1 for others.
int summed_axis(const onnx::NodeProto& node, int rank);

/// The format that a layer in `format` stores its weight in.
Format weight_format(Format format, const QuantizationRules& rules);

/// The grid of the transpose of a matrix of `shape` that is on the grid `params`.
QuantParams transposed_params(const QuantParams& params, const Shape& shape);

/// Neighbours that share a scale of such a weight; 0: it has no blocks.
int block_wanted(Format format, const QuantizationRules& rules);

/// The largest of `wanted`, its half, its quarter ... down to 32 that divides `length`; 0 when none does: engines take
/// whole blocks. `fixed`: the size of the format's blocks, or 0.
int block_along(std::int64_t length, int wanted, int fixed = 0);

}  // namespace vernier
