// Where an axis of a tensor lies behind an operator that moves values: Transpose, Reshape and its relatives.
#pragma once

#include <onnx/onnx_pb.h>

#include <optional>

#include "vernier/tensor.h"

namespace vernier {

/// True for Reshape, Flatten, Squeeze and Unsqueeze.
bool reshapes(const onnx::NodeProto& node);

/// Behind a Transpose; an axis below 0 counts from the end. Nullopt when the node does not say its order.
std::optional<int> transposed_axis(const onnx::NodeProto& transpose, int axis);

/// The axis is found again where one of the same size has as many elements before it. Unknown sizes are -1; one in
/// front stands for the batch on both sides.
std::optional<int> reshaped_axis(const Shape& from, const Shape& to, int axis);

}  // namespace vernier
