// Where the output channels of a weight lie: the dimension along which its scales may run.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>

namespace vernier {

/// Dimension of input 1 of a weighted operator that indexes output channels:
///   Conv 0, ConvTranspose 1, Gemm 1 (0 with transB), MatMul rank - 1
///
/// Edges: -1 for other operators, and for a MatMul vector (rank 1), which has one scale. With groups, dimension 1 of a
///        ConvTranspose weight holds the output channels of one group only.
int weight_axis(const onnx::NodeProto& node, int rank);

/// Dimension of a weight of rank 2 that a Gemm or MatMul sums over, and that blocks lie along; -1 for others.
int summed_axis(const onnx::NodeProto& node, int rank);

/// The largest of `wanted`, its half, its quarter ... down to 32 that divides `length`; 0 when none does: engines take
/// whole blocks.
int block_along(std::int64_t length, int wanted);

}  // namespace vernier
