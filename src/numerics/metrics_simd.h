// What metrics.cpp and histogram.cpp ask of the SIMD code: sums, ends and choices of one block of numbers, the same on
// every instruction set.
#pragma once

#include <cstddef>

#include "numerics/metrics.h"

namespace vernier {

inline constexpr std::size_t kErrorLanes = 8;
/// Both tensors of a block take half of a 32 KiB first-level cache.
inline constexpr std::size_t kErrorBlock = 2048;

/// Sums over n pairs, n a multiple of kErrorLanes. Counts stay 0. When a value is NaN or infinite so is an energy, and
/// the rest means nothing: finite float32 cannot overflow a double.
ErrorStats run_sum_block(const float* ref, const float* got, std::size_t n);

struct BlockRange {
  float min;
  float max;
  bool finite;  // false: min and max mean nothing
};
/// n >= 1. The sign of a zero end is not defined.
BlockRange run_range_of_block(const float* values, std::size_t n);

struct BlockBeyond {
  std::size_t kept = 0;
  std::size_t at_bottom = 0;
  std::size_t at_top = 0;
};
/// Copies the values that are neither between `low` and `high` nor equal to `bottom` or `top`, in their order, NaN
/// included. `bottom` <= `low`, `top` >= `high`, or NaN, which nothing is equal to. `beyond` has room for n.
BlockBeyond run_values_beyond(const float* values, std::size_t n, float low, float high, float bottom, float top,
                              float* beyond);

}  // namespace vernier
