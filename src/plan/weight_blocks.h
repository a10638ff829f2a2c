// Weights in blocks: neighbours along the dimension that a product sums over, which share a scale.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>

namespace vernier {

/// Dimension of a weight of rank 2 that a Gemm or MatMul sums over, and that blocks lie along; -1 for others.
int summed_axis(const onnx::NodeProto& node, int rank);

/// The largest of `wanted`, its half, its quarter ... down to 32 that divides `length`; 0 when none does: engines take
/// whole blocks.
int block_along(std::int64_t length, int wanted);

}  // namespace vernier
