// Two tensors of one shape, read block by block, and the sums that several metrics share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/elements.h"
#include "numerics/metrics.h"
#include "vernier/tensor.h"

namespace vernier {

class Pair {
 public:
  /// Both must hold as many elements, of types that are numbers or bool.
  Pair(const Tensor& got, const Tensor& ref) : got_(got), ref_(ref) {}

  const Tensor& got() const { return got_; }
  const Tensor& ref() const { return ref_; }
  const Shape& shape() const { return got_.shape(); }
  std::int64_t count() const { return got_.count(); }

  /// True when float32 holds both sides exactly and at least one is a float: the arithmetic is float32 then, as NumPy's
  /// and the peer's.
  bool in_float32() const;
  /// True when differences are those of whole numbers.
  bool in_integers() const;

  /// Sums over all pairs; made when first asked for. Cost: one pass.
  const ErrorStats& sums();
  /// Largest finite value of the tested side; NaN when there is none. Cost: one pass.
  double largest_got() const;
  /// Pairs of which a side is not finite.
  std::int64_t not_finite() { return sums().ref_nonfinite + sums().got_nan + sums().got_inf; }
  /// "3 of 256 values are not finite, the first at (0, 1): nan against 0.5"; empty when there are none.
  std::string not_finite_text();

  /// Calls with(got, ref, first) for each block, as T.
  template <class T, class With>
  void for_blocks(const With& with) const {
    std::vector<T> got_room;
    std::vector<T> ref_room;
    for (std::int64_t first = 0; first < count(); first += kBlock) {
      const auto n = static_cast<std::size_t>(std::min(kBlock, count() - first));
      with(read_block(got_, first, n, got_room), read_block(ref_, first, n, ref_room), first);
    }
  }

 private:
  const Tensor& got_;
  const Tensor& ref_;
  std::optional<ErrorStats> sums_;
};

/// "nan against 0.5": element `at` of both.
std::string values_at(const Pair& pair, std::int64_t at);

}  // namespace vernier
