// Rounding, codes and values of whole constants whose shape is known: with one scale, one for each index of an axis, or
// one for each block of neighbours along an axis. round.h does the work, one slab of equal scales at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/round.h"
#include "vernier/tensor.h"

namespace vernier {

/// Channels and elements behind each of them when `shape` is read along `axis`: [outer, channels, inner]; {1, all} for
/// -1.
struct AxisGeometry {
  std::int64_t channels = 1;
  std::int64_t inner = 1;
};
AxisGeometry geometry_along(const Shape& shape, int axis);

/// Shape of the scales of a constant of `shape`: a scalar; [shape[axis]]; or `shape` with ceil(shape[axis] / block) at
/// `axis`, as ONNX stores them.
Shape scale_shape(const QuantParams& params, const Shape& shape);

/// True when `params` has as many scales as a constant of `shape` needs.
bool scales_fit(const QuantParams& params, const Shape& shape);

/// As round_to, encode and decode; `events` may be null. Errors: Internal when the scales do not fit the shape.
void round_tensor(const QuantParams& params, const Shape& shape, std::span<const float> values, std::span<float> out,
                  RoundEvents* events = nullptr);
std::vector<std::byte> encode_tensor(const QuantParams& params, const Shape& shape, std::span<const float> values);
std::vector<float> decode_tensor(const QuantParams& params, const Shape& shape, std::span<const std::byte> codes);

/// Which of the scales element `index` of a constant of `shape` has: its place in `params.scale`.
std::size_t scale_index(const QuantParams& params, const Shape& shape, std::size_t index);

/// Absolute maximum of what shares a scale under the axis and block of `params`, in the order of its scales; values
/// that are not finite are left out.
std::vector<float> absmax_of_scales(const QuantParams& params, const Shape& shape, std::span<const float> values);

}  // namespace vernier
