// Where an axis of a tensor lies behind an operator that moves values: Transpose, Reshape and its relatives.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>
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

/// An axis that begins with another: each place of the other is `inner` neighbouring places of it.
struct MergedAxis {
  int axis = 0;
  std::int64_t inner = 1;
};

/// As reshaped_axis(), and for an axis that is merged with those behind it: C of C x H x W behind a Flatten.
std::optional<MergedAxis> merged_axis(const Shape& from, const Shape& to, int axis);

/// An axis inside others that a Reshape makes one: place p of it is at p / inner % length of the old one.
struct InnerAxis {
  int axis = 0;
  std::int64_t outer = 1;  // how often the old axis repeats
  std::int64_t inner = 1;
};

/// For an axis that is merged with those in front of it, which merged_axis() does not find: K of A x K x N that becomes
/// A*K x N. All merged sizes have to be known.
std::optional<InnerAxis> inner_axis(const Shape& from, const Shape& to, int axis);

/// The axis of `from` that merged_axis() finds at `axis` of `to`, the one with the fewest inner places.
std::optional<MergedAxis> axis_before(const Shape& from, const Shape& to, int axis);

}  // namespace vernier
