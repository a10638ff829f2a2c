#include "verdict/series.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::size_t kTable = std::size_t{1} << 16U;
// Up to here selecting among copies is quicker than clearing and summing tables.
constexpr std::int64_t kFew = 1 << 17;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::array<double, 4> kQuantiles{0.5, 0.9, 0.95, 0.99};

/// numpy.quantile's interpolation; next to an infinity NumPy's gives NaN even where nothing lies between.
double between(double low, double high, double share) {
  if (low == high || share == 0) return low;
  return share < 0.5 ? low + (high - low) * share : high - (high - low) * (1 - share);
}

template <class T>
bool all_finite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kExponent = sizeof(T) == 4 ? static_cast<Bits>(0x7F800000U) : static_cast<Bits>(0x7FF0000000000000U);
  Bits largest = 0;
  for (const T value : values) largest = std::max(largest, std::bit_cast<Bits>(value) & kExponent);
  return largest != kExponent;
}

constexpr std::size_t kLanes = 8;

/// Sums in eight lanes, so that they can be vectors; the order of additions does not depend on the instruction set.
template <class T>
struct Moments {
  std::array<double, kLanes> sum{}, magnitude{};
  std::array<T, kLanes> low, high;

  explicit Moments(std::span<const T> values) {
    low.fill(values[0]);
    high.fill(values[0]);
    std::size_t i = 0;
    for (; i + kLanes <= values.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) take(values[i + lane], lane);
    }
    for (; i < values.size(); ++i) take(values[i], i % kLanes);
  }
  void take(T value, std::size_t lane) {
    sum[lane] += static_cast<double>(value);
    magnitude[lane] += static_cast<double>(std::abs(value));
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
  }
};

template <class Values>
double total(const Values& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <class T>
double squared_distances(std::span<const T> values, double mean) {
  std::array<double, kLanes> sum{};
  std::size_t i = 0;
  const auto take = [&](T value, std::size_t lane) {
    const double distance = static_cast<double>(value) - mean;
    sum[lane] += distance * distance;
  };
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(values[i + lane], lane);
  }
  for (; i < values.size(); ++i) take(values[i], i % kLanes);
  return total(sum);
}

}  // namespace

// Flipped so that keys order as the numbers do; -0 is 0.
template <class T>
typename Series<T>::Key Series<T>::key_of(T value) {
  constexpr int kSign = static_cast<int>(sizeof(T)) * 8 - 1;
  const Key bits = std::bit_cast<Key>(value + T{0});
  const Key negative = static_cast<Key>(Key{0} - (bits >> kSign));
  return bits ^ (negative | (Key{1} << kSign));
}

template <class T>
T Series<T>::value_of(Key key) {
  constexpr int kSign = static_cast<int>(sizeof(T)) * 8 - 1;
  const Key negative = static_cast<Key>((key >> kSign) - Key{1});
  return std::bit_cast<T>(static_cast<Key>(key ^ (negative | (Key{1} << kSign))));
}

template <class T>
typename Series<T>::Key Series<T>::prefix(Key key, int digits) {
  return digits == 0 ? Key{0} : static_cast<Key>(key >> (16 * (kDigits - digits)));
}

template <class T>
Series<T>::Series(std::int64_t count, std::optional<double> quantile) : quantile_(quantile), few_(count <= kFew) {
  if (count >= std::int64_t{1} << 32U) throw Error(ErrorKind::Input, "a tensor of 2^32 elements or more");
  stats_.count = count;
  if (few_) {
    kept_.reserve(static_cast<std::size_t>(count));
  } else {
    counts_.assign(2 * kTable, 0);
  }
}

template <class T>
void Series<T>::add(std::span<const T> block) {
  if (block.empty()) return;
  if (digit_ > 0) {
    count_digits(block);
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
    kept_.insert(kept_.end(), values.begin(), values.end());
    return;
  }
  // Two tables in turn: equal neighbours would wait for each other's increment.
  constexpr int kShift = 16 * (kDigits - 1);
  std::uint32_t* const even = counts_.data();
  std::uint32_t* const odd = even + kTable;
  std::size_t i = 0;
  for (; i + 2 <= values.size(); i += 2) {
    ++even[key_of(values[i]) >> kShift];
    ++odd[key_of(values[i + 1]) >> kShift];
  }
  if (i < values.size()) ++even[key_of(values[i]) >> kShift];
}

template <class T>
void Series<T>::count_digits(std::span<const T> block) {
  using Bits = Key;
  constexpr Bits kExponent = sizeof(T) == 4 ? static_cast<Bits>(0x7F800000U) : static_cast<Bits>(0x7FF0000000000000U);
  const bool finite_only = finite() == static_cast<std::uint64_t>(stats_.count);
  const int shift = 16 * (kDigits - 1 - digit_);
  for (const T value : block) {
    const Key key = key_of(value);
    std::size_t table = table_of_first_[key >> (16 * (kDigits - 1))];
    if (table == 0) continue;
    if (!finite_only && (std::bit_cast<Bits>(value) & kExponent) == kExponent) continue;
    --table;
    if constexpr (kDigits > 2) {
      if (digit_ > 1) {
        const Key wanted = prefix(key, digit_);
        while (table < prefixes_.size() && prefixes_[table] < wanted) ++table;
        if (table == prefixes_.size() || prefixes_[table] != wanted) continue;
      }
    }
    ++counts_[table * kTable + ((key >> shift) & (kTable - 1))];
  }
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
    asked_ranks_.emplace_back(rank - before, queries_.size());
    queries_.push_back({true, rank - before, 0, 0});
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
  if (count == 0) return;
  for (const double q : kQuantiles) ask_ranks_for(q, count, 0);
  const auto infinite_below = static_cast<std::uint64_t>(stats_.negative_infinite);
  const std::uint64_t all = count + infinite_below + static_cast<std::uint64_t>(stats_.positive_infinite);
  if (all != count) ask_ranks_for(0.5, all, infinite_below);
  if (quantile_) {
    ask_ranks_for(*quantile_, count, 0);
    ask_ranks_for(*quantile_, all, infinite_below);
  }
  if (!histogram_) return;
  for (const T edge : bin_edges<T>(*histogram_)) {
    asked_keys_.emplace_back(key_of(edge), queries_.size());
    queries_.push_back({false, 0, key_of(edge), 0});
  }
}

template <class T>
void Series<T>::open_tables() {
  prefixes_.clear();
  for (const Query& query : queries_) {
    prefixes_.push_back(query.by_rank ? query.key : prefix(query.key, digit_));
  }
  std::sort(prefixes_.begin(), prefixes_.end());
  prefixes_.erase(std::unique(prefixes_.begin(), prefixes_.end()), prefixes_.end());
  for (Query& query : queries_) {
    const Key wanted = query.by_rank ? query.key : prefix(query.key, digit_);
    query.table =
        static_cast<std::size_t>(std::lower_bound(prefixes_.begin(), prefixes_.end(), wanted) - prefixes_.begin());
  }
  counts_.assign(prefixes_.size() * kTable, 0);
  table_of_first_.assign(kTable, 0);
  for (std::size_t table = prefixes_.size(); table-- > 0;) {
    table_of_first_[prefixes_[table] >> (16 * (digit_ - 1))] = static_cast<std::uint8_t>(table + 1);
  }
}

template <class T>
void Series<T>::close_tables() {
  std::vector<std::uint64_t> up_to(kTable);
  const std::size_t tables = counts_.size() / kTable;
  for (std::size_t table = 0; table < tables; ++table) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < kTable; ++i) up_to[i] = sum += counts_[table * kTable + i];
    for (Query& query : queries_) {
      if (query.table != table) continue;
      if (query.by_rank) {
        const auto digit =
            static_cast<std::size_t>(std::upper_bound(up_to.begin(), up_to.end(), query.rank) - up_to.begin());
        if (digit > 0) query.rank -= up_to[digit - 1];
        query.key = static_cast<Key>(digit_ == 0 ? Key{0} : query.key << 16U) | static_cast<Key>(digit);
      } else {
        const auto digit = static_cast<std::size_t>((query.key >> (16 * (kDigits - 1 - digit_))) & (kTable - 1));
        if (digit > 0) query.rank += up_to[digit - 1];
      }
    }
  }
}

/// The answers to the questions, from the numbers themselves.
template <class T>
void Series<T>::select() {
  std::sort(asked_ranks_.begin(), asked_ranks_.end());
  auto unordered = kept_.begin();  // what lies before is in its place
  for (const auto& [rank, query] : asked_ranks_) {
    const auto place = kept_.begin() + static_cast<std::ptrdiff_t>(rank);
    if (place < unordered) continue;
    std::nth_element(unordered, place, kept_.end());
    unordered = place + 1;
  }
  for (const auto& [key, query] : asked_keys_) {
    const T edge = value_of(key);
    std::uint64_t below_edge = 0;
    for (const T value : kept_) below_edge += value < edge ? 1U : 0U;
    queries_[query].rank = below_edge;
  }
}

template <class T>
bool Series<T>::next_pass() {
  position_ = 0;
  if (few_) {
    ask();
    select();
    fill_histogram();
    return false;
  }
  if (digit_ == 0) {
    for (std::size_t i = 0; i < kTable; ++i) counts_[i] += counts_[kTable + i];
    counts_.resize(kTable);
    ask();
    if (queries_.empty()) return false;
  }
  close_tables();
  if (++digit_ < kDigits) {
    open_tables();
    return true;
  }
  counts_ = {};
  fill_histogram();
  return false;
}

template <class T>
std::uint64_t Series<T>::below(Key key) const {
  for (const auto& [asked, query] : asked_keys_) {
    if (asked == key) return queries_[query].rank;
  }
  throw Error(ErrorKind::Internal, "a number that was not asked for");
}

template <class T>
double Series<T>::at_rank(std::uint64_t rank_of_finite) const {
  if (few_) return static_cast<double>(kept_[rank_of_finite]);
  for (const auto& [rank, query] : asked_ranks_) {
    if (rank == rank_of_finite) return static_cast<double>(value_of(queries_[query].key));
  }
  throw Error(ErrorKind::Internal, "a rank that was not asked for");
}

template <class T>
void Series<T>::fill_histogram() {
  if (!histogram_ || finite() == 0) return;
  const std::vector<T> edges = bin_edges<T>(*histogram_);
  for (std::size_t bin = 0; bin < kHistogramBins; ++bin) {
    histogram_->bins[bin] =
        static_cast<std::int64_t>(below(key_of(edges[bin + 1]))) - static_cast<std::int64_t>(below(key_of(edges[bin])));
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
