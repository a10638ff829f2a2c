// What NVIDIA's tensor cores do to numbers beside rounding results: sums of float16 convolutions that are themselves
// float16, as noise of the right power, and TF32, the ten bits of mantissa that they read of float32. Which layers are
// computed so is said in plan/engine_sums.h, the measurements behind it are in docs/records/within-a-layer.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace vernier {

/// Adds the noise of sums that are kept in float16 and rounded once every 16 products, all but their last rounding,
/// which is that of the result and left to round_to():
///
///   y = x + e,   power of e = (roundings - 1) / 2 * r,   r = mean of ulp(x)^2 / 12 over the channel,
///
/// ulp(x) the distance of float16 values at |x|. A partial sum k of n has about k/n of the power of the whole, so all
/// n roundings together have (n + 1) / 2 times the power of the last.
///
/// e is a function of (seed, index of the element): the difference of two hashed 16-bit numbers, scaled to that power;
/// the same on every machine, whatever runs beside it.
///
/// Shapes: values [n], out [n] (same span or disjoint), read as [outer, channels, inner]. A channel with less than 16
///         values tells too little of itself: there r is the mean over all channels.
/// Edges:  values past the largest float16 have its ulp, values below the smallest normal one that of subnormals; what
///         is not finite stays so. Partial sums that overflow although the result does not are not seen.
/// Errors: Internal when sizes do not match or roundings < 1.
/// Cost:   two passes, no allocation.
/// Source: docs/records/within-a-layer.md, measured with TensorRT-RTX.
void add_sum_noise(std::int64_t channels, std::int64_t inner, std::int64_t roundings, std::uint32_t seed,
                   std::span<const float> values, std::span<float> out);

/// How many values share the power of that noise: a channel, or a sample of channels that are short.
std::size_t values_of_one_noise(std::int64_t channels, std::int64_t inner);

/// Rounds each value to the ten bits of mantissa of TF32, ties to even; the exponent is that of float32. NaN stays NaN.
/// Shapes: values [n], out [n] (same span or disjoint). Errors: Internal when sizes do not match. Cost: one pass.
/// Source: NVIDIA, "Accelerating AI training with NVIDIA TF32 tensor cores" (2021).
void round_to_tf32(std::span<const float> values, std::span<float> out);

}  // namespace vernier
