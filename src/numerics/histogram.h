// How often each magnitude occurs in a tensor, over all samples, in bounded memory and one pass: what every way to
// choose a range works on. Bins are logarithmic, 512 of equal width between a power of two and the next, for each sign:
// the first bits of the float32 itself. So no first pass has to learn the range, one value of -1e9 costs the others no
// resolution, every range, however small beside the largest value, is known to 0.2 %, and counts depend neither on the
// order of samples nor on who counted them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "numerics/metrics.h"

namespace vernier {

/// Values in [low, high); for negative ones (low, high]. Zeros, and subnormals with them, are the bin [0, 0].
struct Bin {
  float low = 0;
  float high = 0;
  std::int64_t count = 0;
  /// What the values of the bin are taken for.
  float middle() const noexcept { return low + (high - low) / 2; }
  bool operator==(const Bin&) const = default;
};

class ValueHistogram {
 public:
  static constexpr int kMantissaBits = 9;
  static constexpr std::size_t kBinsPerOctave = std::size_t{1} << kMantissaBits;

  ValueHistogram() = default;
  /// For who only looks at the ends: values that lie in `inner` are one bin, but for those of the outermost bins that
  /// `inner` reaches into. Empty: none are.
  explicit ValueHistogram(const RangeStats& inner);

  /// Folds values in, and tells their range. NaN and infinities are counted in its `nonfinite` and nowhere else.
  /// Cost: about half a nanosecond a value, a tenth of that where neighbours are inner ones. Memory: 4 kB for each
  /// power of two (and sign) that occurs, 200 kB at most in practice.
  RangeStats add(std::span<const float> values);
  /// Exact: the same as if one histogram had seen all values, in any order. Both have the same inner values.
  ValueHistogram& operator+=(const ValueHistogram& other);

  /// Exact ends and counts of all values.
  const RangeStats& range() const noexcept { return range_; }
  /// Bins that hold anything, from the most negative to the most positive.
  std::vector<Bin> bins() const;
  bool operator==(const ValueHistogram&) const = default;

  /// All that range() does not tell, as numbers: with range(), what another process makes the histogram of again.
  std::vector<std::int64_t> counts() const;
  ValueHistogram(const RangeStats& range, const std::vector<std::int64_t>& counts);

 private:
  using Octave = std::array<std::int64_t, kBinsPerOctave>;
  class Counter;
  RangeStats range_;
  float inner_low_ = 0, inner_high_ = 0;  // edges of bins, none of both belongs to it; equal: nothing is inner
  std::int64_t inner_ = 0;
  std::int64_t zeros_ = 0;
  std::map<int, Octave> octaves_;  // by biased exponent, negative for negative values: in the order of values
};

/// Of the first and of the second half of the samples, so that what one half learned can be held against the other.
using HalvedHistogram = std::array<ValueHistogram, 2>;

/// Histograms of several tensors that several threads fill at once, apart for the first and the second half of the
/// samples. What they hold afterwards does not depend on the threads.
class SharedHistograms {
 public:
  /// Of each tensor, whether its values are wanted; the others stay empty.
  SharedHistograms(const std::vector<bool>& wanted, std::size_t samples) : samples_(samples), slots_(wanted.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i]) slots_[i] = std::make_unique<Slot>();
    }
  }
  bool wants(std::size_t tensor) const { return tensor < slots_.size() && slots_[tensor] != nullptr; }
  /// Only the ends of that tensor count, as in a ValueHistogram. Before anything is added; it must be wanted.
  void count_ends(std::size_t tensor, const RangeStats& inner);
  /// The range of `values`. The tensor must be wanted.
  RangeStats add(std::size_t tensor, std::size_t sample, std::span<const float> values);
  /// What was counted of one half before; the tensor must be wanted, with the same ends where those alone count.
  void add(std::size_t tensor, std::size_t half, const ValueHistogram& counted);
  /// Of the samples below samples / 2, and of the others. The tensor must be wanted.
  const HalvedHistogram& halves(std::size_t tensor) const { return slots_.at(tensor)->halves; }

 private:
  struct Slot {
    std::mutex mutex;
    ValueHistogram empty;  // what both halves begin as
    HalvedHistogram halves;
  };
  std::size_t samples_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace vernier
