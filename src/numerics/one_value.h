// What a format makes of one value, in plain C++ that also compiles as CUDA: kernels of GPUs include this file. The CPU
// runs round_simd-inl.h and tensor_cores_simd-inl.h, which do the same steps a vector at a time; a test holds the bits
// of the two against each other. Every step is an IEEE operation that rounds once: compile without contraction.
#pragma once

#ifdef __CUDACC__
#define VERNIER_ON_BOTH __device__ inline
#else
#define VERNIER_ON_BOTH inline
#endif

namespace vernier {

/// How a grid rounds. Numbers instead of an enum of formats: grid.cpp says what they are for each.
enum class GridKind : int {
  Exact,       // FP32: a copy
  Half,        // FP16: past its end is infinity
  UpperBits,   // BF16: the upper half of an FP32
  Saturating,  // FP8: past its end is its largest value
  Integer
};

struct ValueGrid {
  GridKind kind = GridKind::Exact;
  float top = 0;           // magnitudes are clipped to this before they are rounded
  float least_power = 0;   // the smallest normal value; 0: nothing is subnormal
  float magic_factor = 0;  // 2^(23 - mantissa bits)
  float limit = 0;         // Saturating: finite magnitudes from here on are clipped ...
  int tie_stays = 0;       // ... or beyond it
  float lowest = 0;        // Integer: codes allowed
  float highest = 0;
};

/// How the scale of a block of neighbours follows from their largest magnitude (block_scales() in tensor_grid.h).
struct BlockGrid {
  ValueGrid scales;        // Exact: scales are powers of two
  int largest_power = 0;   // of the values' format, for those
  float divisor = 1;       // others: the largest value of the format, times the tensor's scale ...
  float tensor_scale = 1;  // ... which each has as a factor
  float least = 0;         // scales on their grid are no smaller
};

/// What counts as an event is said at RoundEvents (round.h).
struct ValueEvents {
  int saturated = 0;
  int overflowed = 0;
  int subnormal = 0;
  int flushed = 0;
  int nan = 0;
};

VERNIER_ON_BOTH unsigned bits_of(float value) {
#ifdef __CUDACC__
  return __float_as_uint(value);
#else
  return __builtin_bit_cast(unsigned, value);
#endif
}

VERNIER_ON_BOTH float float_of(unsigned bits) {
#ifdef __CUDACC__
  return __uint_as_float(bits);
#else
  return __builtin_bit_cast(float, bits);
#endif
}

VERNIER_ON_BOTH float magnitude_of(float value) { return float_of(bits_of(value) & 0x7FFFFFFFu); }
VERNIER_ON_BOTH bool is_nan(float value) { return (bits_of(value) & 0x7FFFFFFFu) > 0x7F800000u; }
VERNIER_ON_BOTH bool is_finite(float value) { return (bits_of(value) & 0x7F800000u) != 0x7F800000u; }

/// `magnitude` with the sign of `value`; of a NaN the quiet NaN of its sign.
VERNIER_ON_BOTH float signed_like(float magnitude, float value) {
  const unsigned bits = is_nan(value) ? 0x7FC00000u : bits_of(magnitude);
  return float_of(bits | (bits_of(value) & 0x80000000u));
}

/// Ties to even; see round_simd-inl.h for why adding pushes the right bits out.
VERNIER_ON_BOTH float rounded_magnitude(const ValueGrid& grid, float value) {
  const float size = magnitude_of(value);
  const float clipped = size < grid.top ? size : grid.top;
  const float exponent = float_of(bits_of(clipped) & 0x7F800000u);
  const float magic = (exponent > grid.least_power ? exponent : grid.least_power) * grid.magic_factor;
  return (clipped + magic) - magic;
}

VERNIER_ON_BOTH float nearest_integer(float value) {
  const float magic = 0x1.8p23f;
  return (value + magic) - magic;
}

/// `value` was divided by the scale. `low` and `high`: the codes allowed, less the zero point.
VERNIER_ON_BOTH float round_to_step(const ValueGrid& grid, float value, float low, float high) {
  switch (grid.kind) {
    case GridKind::Exact:
      return value;
    case GridKind::Half: {
      const float rounded = rounded_magnitude(grid, value);
      return signed_like(rounded >= grid.top ? float_of(0x7F800000u) : rounded, value);
    }
    case GridKind::UpperBits: {
      const unsigned bits = bits_of(value);
      const unsigned carried = (bits + ((bits >> 16) & 1u) + 0x7FFFu) & 0x7FFF0000u;
      return signed_like(float_of(carried), value);
    }
    case GridKind::Saturating:
      return signed_like(rounded_magnitude(grid, value), value);
    case GridKind::Integer:
      break;
  }
  const float number = is_nan(value) ? 0.0f : value;
  const float above = number > low ? number : low;
  return nearest_integer(above < high ? above : high);
}

VERNIER_ON_BOTH bool is_clipped(const ValueGrid& grid, float value, float low, float high) {
  if (grid.kind == GridKind::Saturating) {
    return grid.tie_stays ? magnitude_of(value) > grid.limit : magnitude_of(value) >= grid.limit;
  }
  if (grid.kind != GridKind::Integer) return false;
  const float number = is_nan(value) ? 0.0f : value;
  const float above = number > low - 2.0f ? number : low - 2.0f;
  const float near = nearest_integer(above < high + 2.0f ? above : high + 2.0f);
  return near < low || near > high;
}

/// On the grid of `scale` (1 where the format has none); adds what happened to `events` unless that is null.
VERNIER_ON_BOTH float round_value(const ValueGrid& grid, float value, float scale, float zero_point,
                                  ValueEvents* events) {
  const bool scaled = grid.kind == GridKind::Saturating || grid.kind == GridKind::Integer;
  const float low = grid.lowest - zero_point, high = grid.highest - zero_point;
  // Of a NaN, GPUs make one of their own with each division and product.
  const float divided = scaled && !is_nan(value) ? value / scale : value;
  const float step = round_to_step(grid, divided, low, high);
  const float rounded = scaled && !is_nan(step) ? step * scale : step;
  if (events != nullptr) {
    const bool finite = is_finite(value);
    events->nan += is_nan(value);
    events->saturated += scaled && finite && is_clipped(grid, divided, low, high);
    events->overflowed += !scaled && finite && !is_finite(rounded);
    events->subnormal += step != 0.0f && magnitude_of(step) < grid.least_power;
    events->flushed += value != 0.0f && !is_nan(value) && rounded == 0.0f;
  }
  return rounded;
}

/// Its magnitude; 0 where it is not finite.
VERNIER_ON_BOTH float finite_magnitude_of(float value) { return is_finite(value) ? magnitude_of(value) : 0.0f; }

/// `absmax` is finite and not negative.
VERNIER_ON_BOTH float block_scale(const BlockGrid& grid, float absmax) {
  if (grid.scales.kind == GridKind::Exact) {
    if (absmax == 0.0f) return 1.0f;
    const int power = static_cast<int>(bits_of(absmax) >> 23) - 127 - grid.largest_power;
    if (power <= -127) return 0x1p-127f;
    return float_of(static_cast<unsigned>((power < 127 ? power : 127) + 127) << 23);
  }
  const float ratio = absmax == 0.0f ? 1.0f : absmax / grid.divisor;
  const float scale = rounded_magnitude(grid.scales, ratio);
  return (scale > grid.least ? scale : grid.least) * grid.tensor_scale;
}

/// Rounds `count` neighbours to `grid` under a scale of their own; `out` may be `in`.
VERNIER_ON_BOTH void round_block(const ValueGrid& grid, const BlockGrid& blocks, const float* in, float* out, int count,
                                 ValueEvents* events) {
  float absmax = 0;
  for (int i = 0; i < count; ++i) {
    const float size = finite_magnitude_of(in[i]);
    absmax = absmax > size ? absmax : size;
  }
  const float scale = block_scale(blocks, absmax);
  for (int i = 0; i < count; ++i) out[i] = round_value(grid, in[i], scale, 0.0f, events);
}

/// Scale and zero point of uint8 for the range of a tensor (fixed_params() in tensor_grid.h).
struct RangeScale {
  float scale, zero_point;
};

/// `min` and `max` are finite; a range too narrow or too wide for a scale in float32 gets 1.
VERNIER_ON_BOTH RangeScale scale_of_range(float min, float max) {
  const float low = min < 0.0f ? min : 0.0f, high = max > 0.0f ? max : 0.0f;
  const float width = (high - low) / 255.0f;
  const float scale = width > 0.0f && is_finite(width) ? width : 1.0f;
  const float zero = nearest_integer(-low / scale);
  return {scale, zero < 255.0f ? (zero > 0.0f ? zero : 0.0f) : 255.0f};
}

/// Ten bits of mantissa, ties to even.
VERNIER_ON_BOTH float round_value_to_tf32(float value) {
  if (!is_finite(value)) return value;
  const unsigned bits = bits_of(value);
  return float_of((bits + ((bits >> 13) & 1u) + 0xFFFu) & 0xFFFFE000u);
}

/// The power of two in |value| as FP16 has it, 2^-14 to 2^15; of NaN and infinities the largest.
VERNIER_ON_BOTH float float16_power_of(float value) {
  const unsigned exponent = bits_of(value) & 0x7F800000u;
  const unsigned from = exponent > 0x38800000u ? exponent : 0x38800000u;
  return float_of(from < 0x47000000u ? from : 0x47000000u);
}

/// Scale of the noise of `roundings` roundings (tensor_cores.h), from the sum of the squared powers of `count` values.
VERNIER_ON_BOTH float noise_amplitude(double squared_powers, double count, double roundings) {
  const double variance = (roundings - 1) / 2 * (squared_powers / count * 0x1p-20 / 12);
  const double hashed_variance = (65536.0 * 65536.0 - 1) / 6;  // of the difference of two numbers of 16 bits
#ifdef __CUDACC__
  return static_cast<float>(sqrt(variance / hashed_variance));
#else
  return static_cast<float>(__builtin_sqrt(variance / hashed_variance));
#endif
}

/// `value` with the noise of FP16 accumulation: MurmurHash3's finalizer of its index (tensor_cores_simd-inl.h).
VERNIER_ON_BOTH float with_hashed_noise(float value, unsigned index, unsigned seed, float amplitude) {
  unsigned h = index * 0x9E3779B1u + seed;
  h = (h ^ (h >> 16)) * 0x85EBCA6Bu;
  h = (h ^ (h >> 13)) * 0xC2B2AE35u;
  h = h ^ (h >> 16);
  const int difference = static_cast<int>(h >> 16) - static_cast<int>(h & 0xFFFFu);
  return value + static_cast<float>(difference) * amplitude;
}

}  // namespace vernier
