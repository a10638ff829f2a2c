// Rounding, codes and values of whole constants whose shape is known: with one scale, one for each index of an axis, or
// one for each block of neighbours along an axis. round.h does the work, one slab of equal scales at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/metrics.h"
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

/// Scales of the blocks of a format with such scales (nvfp4, mxfp8, mxfp8e5m2, mxfp4), in float32, from the largest
/// magnitude of each:
///
///   nvfp4:  t * e4m3(absmax / (6 t)),  t = `tensor_scale`; a block of zeros gets t, and a scale that would be zero the
///           smallest value of E4M3
///   mx*:    2^clamp(floor(log2(absmax)) - e, -127, 127),  e = 2, 8 or 15 for E2M1, E4M3 or E5M2; 1 for zeros
///
/// Source: NVIDIA TensorRT Model Optimizer's NVFP4; OCP Microscaling Formats (MX) Specification 1.0, section 6.3.
std::vector<float> block_scales(Format format, std::span<const float> absmax, float tensor_scale);

/// t of nvfp4: absmax of the tensor / (6 * 448); 1 for zeros and what is too small for a normal float32. 1 for mx*.
float tensor_scale_of(Format format, float absmax);

/// What `params`, which are dynamic, mean for these values.
///
///   blocks:  block_scales() of each `params.block` neighbours along the last dimension
///   else:    uint8 as DynamicQuantizeLinear-11 has it, in float32: s = (max(hi, 0) - min(lo, 0)) / 255, 1 for zeros;
///            z = clamp(rne(-lo / s), 0, 255); s = 1 too where float32 has no such scale
///
/// Edges: values that are not finite do not count.
QuantParams fixed_params(const QuantParams& params, const Shape& shape, std::span<const float> values);

/// True when `params` has as many scales as a constant of `shape` needs.
bool scales_fit(const QuantParams& params, const Shape& shape);

/// As round_to, encode and decode, of dynamic parameters too, which decode cannot know; `events` may be null. Errors:
/// Internal when the scales do not fit the shape.
void round_tensor(const QuantParams& params, const Shape& shape, std::span<const float> values, std::span<float> out,
                  RoundEvents* events = nullptr);
std::vector<std::byte> encode_tensor(const QuantParams& params, const Shape& shape, std::span<const float> values);
std::vector<float> decode_tensor(const QuantParams& params, const Shape& shape, std::span<const std::byte> codes);

/// Which of the scales element `index` of a constant of `shape` has: its place in `params.scale`.
std::size_t scale_index(const QuantParams& params, const Shape& shape, std::size_t index);

/// Smallest and largest of what shares a scale under the axis and block of `params`, in the order of its scales,
/// without counts. Values that are not finite are left out.
std::vector<RangeStats> ranges_of_scales(const QuantParams& params, const Shape& shape, std::span<const float> values);

/// Absolute maximum of the same; 0 for none.
std::vector<float> absmax_of_scales(const QuantParams& params, const Shape& shape, std::span<const float> values);

}  // namespace vernier
