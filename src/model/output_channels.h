// Where the output channels of a weight lie: the dimension along which its scales may run, and the channel that each
// element belongs to.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <optional>

#include "vernier/tensor.h"

namespace vernier {

/// Whether the operator has a weight as its input 1: Conv, ConvTranspose, Gemm, MatMul.
bool has_weight_axis(const onnx::NodeProto& node);

/// Dimension of input 1 of a weighted operator that indexes output channels:
///   Conv 0, ConvTranspose 1, depthwise ConvTranspose [channels, 1, ...] 0, Gemm 1 (0 with transB), MatMul rank - 1
/// A constant may also be what is multiplied from the left: of `input` 0 those are Gemm 0 (1 with transA), MatMul
/// rank - 2, where they become the rows of the result.
///
/// Edges: -1 for other operators, and for a MatMul vector (rank 1), which has one scale. With groups otherwise,
///        dimension 1 of a ConvTranspose weight holds the output channels of one group only: groups share scales.
int weight_axis(const onnx::NodeProto& node, const Shape& weight, int input = 1);

/// The output channel of each element of a weight: `inner` elements in a row share one, channels repeat every
/// `per_group * inner` elements, and a ConvTranspose begins anew for each group.
struct OutputChannels {
  std::size_t count = 0;
  std::size_t per_group = 0;
  std::size_t inner = 1;
  std::size_t block = 0;  // elements of one group; the channels of the next begin behind it

  std::size_t of(std::size_t element) const { return element / block * per_group + element / inner % per_group; }
};

/// Of input 1 of Conv, ConvTranspose, Gemm and MatMul. nullopt: another operator, or a shape that it does not take or
/// that has no elements; a MatMul weight of rank 1.
std::optional<OutputChannels> output_channels(const onnx::NodeProto& node, const Shape& weight);

}  // namespace vernier
