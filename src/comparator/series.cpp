#include "comparator/series.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "comparator/moments.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// Up to here selecting among copies is quicker than clearing and summing tables.
constexpr std::int64_t kFew = 1 << 12;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<double, 4> kQuantiles{0.5, 0.9, 0.95, 0.99};

/// numpy.quantile's interpolation; next to an infinity NumPy's gives NaN even where nothing lies between.
double between(double low, double high, double share) {
  if (low == high || share == 0) return low;
  return share < 0.5 ? low + (high - low) * share : high - (high - low) * (1 - share);
}

}  // namespace

template <class T>
Series<T>::Series(std::int64_t count, std::optional<double> quantile) : quantile_(quantile), few_(count <= kFew) {
  if (count >= std::int64_t{1} << 32U) throw Error(ErrorCode::NotMeasurable, "a tensor of 2^32 elements or more");
  stats_.count = count;
  if (few_) {
    kept_.reserve(static_cast<std::size_t>(count));
  } else {
    digits_.emplace();
  }
}

template <class T>
void Series<T>::add(std::span<const T> block) {
  if (block.empty()) return;
  if (pass_ > 0) {
    digits_->count_next(block, not_finite() == 0);
  } else {
    add_moments(block);
  }
  position_ += static_cast<std::int64_t>(block.size());
}

template <class T>
void Series<T>::add_moments(std::span<const T> block) {
  if (all_finite(block)) {
    add_finite(block, nullptr);
    return;
  }
  finite_room_.clear();
  position_room_.clear();
  for (std::size_t i = 0; i < block.size(); ++i) {
    if (std::isnan(block[i])) {
      ++stats_.nan;
    } else if (std::isinf(block[i])) {
      ++(block[i] > 0 ? stats_.positive_infinite : stats_.negative_infinite);
    } else {
      finite_room_.push_back(block[i]);
      position_room_.push_back(static_cast<std::uint32_t>(i));
    }
  }
  if (!finite_room_.empty()) add_finite(finite_room_, position_room_.data());
}

template <class T>
void Series<T>::add_finite(std::span<const T> values, const std::uint32_t* positions) {
  const Moments<T> moments(values);
  const auto place_of = [&](T value) {
    const auto at = static_cast<std::size_t>(std::find(values.begin(), values.end(), value) - values.begin());
    return position_ + static_cast<std::int64_t>(positions == nullptr ? at : positions[at]);
  };
  const T low = *std::min_element(moments.low.begin(), moments.low.end());
  const T high = *std::max_element(moments.high.begin(), moments.high.end());
  // Chan, Golub and LeVeque (1979): sums of squares of two parts, each around its own mean.
  const auto before = static_cast<double>(finite_before_);
  const auto here = static_cast<double>(values.size());
  const double sum = total(moments.sum);
  const double mean = sum / here;
  if (before == 0 || low < stats_.min) {
    stats_.min = low;
    stats_.min_at = place_of(low);
  }
  if (before == 0 || high > stats_.max) {
    stats_.max = high;
    stats_.max_at = place_of(high);
  }
  squares_ += squared_distances(values, mean);
  if (before > 0) {
    const double apart = mean - sum_ / before;
    squares_ += apart * apart * (before * here / (before + here));
  }
  sum_ += sum;
  magnitude_ += total(moments.magnitude);
  finite_before_ += values.size();
  if (few_) {
    kept_.add(values);
    return;
  }
  digits_->count_first(values);
}

template <class T>
std::pair<double, double> Series<T>::range() const {
  return finite() == 0 ? std::pair{kNan, kNan} : std::pair{stats_.min, stats_.max};
}

template <class T>
void Series<T>::want_histogram(double low, double high) {
  if (std::isnan(low) || std::isnan(high)) return;
  if (low == high) {  // as numpy.histogram
    low -= 0.5;
    high += 0.5;
  }
  histogram_ = Histogram{low, high, std::vector<std::int64_t>(kHistogramBins, 0)};
}

template <class T>
std::uint64_t Series<T>::finite() const {
  return static_cast<std::uint64_t>(stats_.count - stats_.nan - stats_.positive_infinite - stats_.negative_infinite);
}

template <class T>
void Series<T>::ask_ranks_for(double q, std::uint64_t count, std::uint64_t before) {
  const double place = q * static_cast<double>(count - 1);
  for (const double end : {std::floor(place), std::ceil(place)}) {
    const auto rank = static_cast<std::uint64_t>(end);
    if (rank < before || rank - before >= finite()) continue;  // an infinity
    few_ ? kept_.ask_rank(rank - before) : digits_->ask_rank(rank - before);
  }
}

/// The edges of the bins, each as the smallest T that is not below it, and the smallest T above the last.
template <class T>
std::vector<T> bin_edges(const Histogram& histogram) {
  std::vector<T> edges;
  for (std::size_t bin = 0; bin < kHistogramBins; ++bin) {
    const double edge =
        histogram.low + (histogram.high - histogram.low) * static_cast<double>(bin) / double{kHistogramBins};
    auto nearest = static_cast<T>(edge);
    if (static_cast<double>(nearest) < edge) nearest = std::nextafter(nearest, std::numeric_limits<T>::infinity());
    edges.push_back(nearest);
  }
  auto last = static_cast<T>(histogram.high);
  if (static_cast<double>(last) <= histogram.high) {
    last = std::nextafter(last, std::numeric_limits<T>::infinity());
  }
  edges.push_back(last);
  return edges;
}

template <class T>
void Series<T>::ask() {
  const std::uint64_t count = finite();
  for (const double q : kQuantiles) ask_ranks_for(q, count, 0);
  const auto infinite_below = static_cast<std::uint64_t>(stats_.negative_infinite);
  const std::uint64_t all = count + infinite_below + static_cast<std::uint64_t>(stats_.positive_infinite);
  if (all != count) ask_ranks_for(0.5, all, infinite_below);
  if (quantile_) {
    ask_ranks_for(*quantile_, count, 0);
    ask_ranks_for(*quantile_, all, infinite_below);
  }
  if (!histogram_) return;
  for (const T edge : bin_edges<T>(*histogram_)) few_ ? kept_.ask_below(edge) : digits_->ask_below(edge);
}

template <class T>
bool Series<T>::next_pass() {
  position_ = 0;
  if (finite() > 0) {
    if (pass_++ == 0) ask();
    if (few_) {
      kept_.select();
    } else if (digits_->next_pass()) {
      return true;
    }
  }
  fill_histogram();
  return false;
}

template <class T>
std::uint64_t Series<T>::below(T value) const {
  return few_ ? kept_.below(value) : digits_->below(value);
}

template <class T>
double Series<T>::at_rank(std::uint64_t rank_of_finite) const {
  return static_cast<double>(few_ ? kept_.at_rank(rank_of_finite) : digits_->at_rank(rank_of_finite));
}

template <class T>
void Series<T>::fill_histogram() {
  if (!histogram_ || finite() == 0) return;
  const std::vector<T> edges = bin_edges<T>(*histogram_);
  for (std::size_t bin = 0; bin < kHistogramBins; ++bin) {
    histogram_->bins[bin] =
        static_cast<std::int64_t>(below(edges[bin + 1])) - static_cast<std::int64_t>(below(edges[bin]));
  }
}

template <class T>
double Series<T>::interpolated(double q, std::uint64_t count, std::uint64_t before) const {
  const double place = q * static_cast<double>(count - 1);
  const auto value = [&](double end) {
    const auto rank = static_cast<std::uint64_t>(end);
    if (rank < before) return -kInfinity;
    return rank - before >= finite() ? kInfinity : at_rank(rank - before);
  };
  return between(value(std::floor(place)), value(std::ceil(place)), place - std::floor(place));
}

template <class T>
ValueStats Series<T>::stats() const {
  ValueStats stats = stats_;
  const std::uint64_t count = finite();
  if (count == 0) {
    if (stats.count > 0) {
      for (double* value : {&stats.mean, &stats.standard_deviation, &stats.variance, &stats.median,
                            &stats.average_magnitude, &stats.min, &stats.max, &stats.p90, &stats.p95, &stats.p99}) {
        *value = kNan;
      }
    }
    return stats;
  }
  stats.mean = sum_ / static_cast<double>(count);
  stats.variance = squares_ / static_cast<double>(count);
  stats.standard_deviation = std::sqrt(stats.variance);
  stats.average_magnitude = magnitude_ / static_cast<double>(count);
  stats.median = interpolated(kQuantiles[0], count, 0);
  stats.p90 = interpolated(kQuantiles[1], count, 0);
  stats.p95 = interpolated(kQuantiles[2], count, 0);
  stats.p99 = interpolated(kQuantiles[3], count, 0);
  return stats;
}

template <class T>
double Series<T>::mean_of_all() const {
  if (stats_.count == 0) return 0;
  const bool up = stats_.positive_infinite > 0;
  const bool down = stats_.negative_infinite > 0;
  if (stats_.nan > 0 || (up && down)) return kNan;
  return up ? kInfinity : down ? -kInfinity : sum_ / static_cast<double>(finite());
}

template <class T>
double Series<T>::max_of_all() const {
  if (stats_.count == 0) return 0;
  if (stats_.nan > 0) return kNan;
  return stats_.positive_infinite > 0 ? kInfinity : finite() == 0 ? -kInfinity : stats_.max;
}

template <class T>
double Series<T>::quantile_of_all(double q) const {
  if (stats_.count == 0) return 0;
  if (stats_.nan > 0) return kNan;
  return interpolated(q, static_cast<std::uint64_t>(stats_.count),
                      static_cast<std::uint64_t>(stats_.negative_infinite));
}

template <class T>
double Series<T>::quantile_of_finite(double q) const {
  if (stats_.count == 0) return 0;
  return finite() == 0 ? kNan : interpolated(q, finite(), 0);
}

template class Series<float>;
template class Series<double>;

}  // namespace vernier
