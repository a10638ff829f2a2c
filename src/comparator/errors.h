// Absolute and relative error of each element of a pair, block by block, in the arithmetic that NumPy would choose.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comparator/pair.h"
#include "vernier/tensor.h"

namespace vernier {

/// Errors of one block. T is float where Pair::in_float32(), else double.
template <class T>
struct ErrorBlock {
  std::vector<T> absolute, relative;
  std::int64_t zero_references = 0;
};

/// Calls with(block, first) for each block. Differences of whole numbers are exact. A float reference of 0 counts as
/// 2.220446049250313e-16 in the relative error; a whole number 0 makes it infinite, or NaN where both are 0.
template <class T, class With>
void for_errors(const Pair& pair, bool infinities_compare_equal, const With& with);

namespace detail {

template <class T>
void float_errors(std::span<const T> got, std::span<const T> ref, bool ref_is_float, bool infinities_compare_equal,
                  ErrorBlock<T>& block);
void integer_errors(std::span<const std::int64_t> got, bool got_unsigned, std::span<const std::int64_t> ref,
                    bool ref_unsigned, ErrorBlock<double>& block);

}  // namespace detail

template <class T, class With>
void for_errors(const Pair& pair, bool infinities_compare_equal, const With& with) {
  ErrorBlock<T> block;
  if constexpr (sizeof(T) == sizeof(double)) {
    if (pair.in_integers()) {
      pair.for_blocks<std::int64_t>(
          [&](std::span<const std::int64_t> got, std::span<const std::int64_t> ref, std::int64_t first) {
            detail::integer_errors(got, pair.got().dtype() == Dtype::UInt64, ref, pair.ref().dtype() == Dtype::UInt64,
                                   block);
            with(block, first);
          });
      return;
    }
  }
  const bool ref_is_float = is_float(pair.ref().dtype());
  pair.for_blocks<T>([&](std::span<const T> got, std::span<const T> ref, std::int64_t first) {
    detail::float_errors(got, ref, ref_is_float, infinities_compare_equal, block);
    with(block, first);
  });
}

}  // namespace vernier
