// What kernels and the host hand each other. Shared with the device code: plain types.
#pragma once

namespace vernier {

using Count = unsigned long long;

/// Of Compare: what ErrorStats holds, but for the number of pairs, in its order.
struct ErrorRecord {
  Count counts[4];  // ref_nonfinite, same_infinity, got_nan, got_inf
  double sums[5];   // ref_energy, got_energy, dot, error_energy, error_sum
  double ends[2];   // max_abs_error, max_abs_ref
};

/// Of Observe. Ends are kept in an order that unsigned numbers have too (kernels.cu: ordered()), the lower one
/// inverted, so that zeroed memory is an empty range.
struct RangeRecord {
  unsigned inverted_min, max;
  Count nonfinite;
};

/// Of Round.
struct EventRecord {
  Count saturated, overflowed, subnormal, flushed, nan;
};

union Record {
  ErrorRecord error;
  RangeRecord range;
  EventRecord events;
};

/// Which of the scales a value has: that of its channel, or of its block along the axis.
struct Scales {
  const float* scales;     // on the GPU; null: all have `scale`
  const int* zero_points;  // on the GPU; null: all zero
  float scale, zero_point;
  Count channels, inner, block;
};

/// Pairs of a block of accumulate_error() and the lanes that sum it (src/numerics/metrics_simd.h).
constexpr unsigned kPairsOfBlock = 2048;
constexpr unsigned kLanesOfBlock = 8;
/// Lanes of sum_squared_powers() (src/numerics/tensor_cores_simd-inl.h).
constexpr unsigned kLanesOfPowers = 16;
constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksOfThreads = kThreads / kLanesOfBlock;

}  // namespace vernier
