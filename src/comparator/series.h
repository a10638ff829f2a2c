// Statistics of a long series of numbers that is never stored: whoever makes it makes it again for each pass, block by
// block. Exact order statistics and histograms come from digit_select.h, so that memory is a few megabytes for any
// length, and time three passes for float32 and six for float64.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "comparator/digit_select.h"
#include "comparator/kept_select.h"
#include "vernier/comparison.h"

namespace vernier {

/// Bins of every histogram, as NumPy's default.
inline constexpr std::size_t kHistogramBins = 10;

template <class T>  // float or double
class Series {
 public:
  /// `count` numbers come in each pass. `quantile` in [0,1]: one more to be found, over all numbers.
  /// Errors: Input for 2^32 numbers or more.
  explicit Series(std::int64_t count, std::optional<double> quantile = {});

  /// The next numbers of this pass. All passes must bring the same numbers in the same order.
  void add(std::span<const T> block);

  /// In the first pass, once all numbers were added: smallest and largest finite one; NaN when there is none.
  std::pair<double, double> range() const;
  /// Then, too: asks for a histogram over [low, high]; numbers outside are not counted.
  void want_histogram(double low, double high);

  /// Ends a pass. False: all is known.
  bool next_pass();

  // ---- After the last pass.
  /// Of the finite numbers; count, nan and the infinities of all.
  ValueStats stats() const;
  std::optional<Histogram> histogram() const { return histogram_; }
  // Over all numbers, infinities in their place; NaN when one is NaN; 0 when there are none.
  double mean_of_all() const;
  double max_of_all() const;
  double median_of_all() const { return quantile_of_all(0.5); }
  /// The quantile of the constructor, or 0.5. NumPy's default, "linear".
  double quantile_of_all(double q) const;
  double quantile_of_finite(double q) const;
  /// So far; infinities and NaN.
  std::int64_t not_finite() const { return stats_.nan + stats_.positive_infinite + stats_.negative_infinite; }

 private:
  void add_moments(std::span<const T> block);
  void add_finite(std::span<const T> values, const std::uint32_t* positions);
  void ask();
  void ask_ranks_for(double q, std::uint64_t count, std::uint64_t before);
  void fill_histogram();

  std::uint64_t finite() const;
  std::uint64_t below(T value) const;
  double at_rank(std::uint64_t rank_of_finite) const;
  double interpolated(double q, std::uint64_t count, std::uint64_t before) const;

  ValueStats stats_;
  double sum_ = 0, magnitude_ = 0;
  double squares_ = 0;  // of the distances from the mean
  std::int64_t position_ = 0;
  std::uint64_t finite_before_ = 0;
  std::optional<double> quantile_;
  int pass_ = 0;

  bool few_;  // then the finite ones are kept
  KeptSelect<T> kept_;
  std::vector<T> finite_room_;
  std::vector<std::uint32_t> position_room_;

  std::optional<DigitSelect<T>> digits_;  // else
  std::optional<Histogram> histogram_;
};

}  // namespace vernier
