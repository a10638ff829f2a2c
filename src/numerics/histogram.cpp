#include "numerics/histogram.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>
#include <optional>

#include "numerics/metrics_simd.h"

namespace vernier {
namespace {

constexpr int kShift = 23 - ValueHistogram::kMantissaBits;
constexpr std::size_t kExponents = 256;
constexpr float kSmallest = std::numeric_limits<float>::min();  // below it is the bin of zero

/// The end of the bin of `value` that is nearer to zero.
float inner_edge(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) >> kShift << kShift); }

}  // namespace

/// Counts straight into the octaves of a histogram: values that are no zeros.
class ValueHistogram::Counter {
 public:
  explicit Counter(ValueHistogram& into) : into_(into) {}
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void count(std::span<const float> values) {
    for (const float value : values) ++bin_of(value);
  }
  void count(float value, std::size_t times) {
    if (times > 0) bin_of(value) += static_cast<std::int64_t>(times);
  }

 private:
  std::int64_t& bin_of(float value) {
    const std::uint32_t key = std::bit_cast<std::uint32_t>(value) >> kShift;
    Octave* octave = octaves_[key / kBinsPerOctave];
    if (octave == nullptr) octave = find(key / kBinsPerOctave);
    return (*octave)[key % kBinsPerOctave];
  }

  Octave* find(std::size_t place) {
    const auto exponent = static_cast<int>(place % kExponents);
    const bool negative = place >= kExponents;
    return octaves_[place] = exponent == kExponents - 1 ? &lost_ : &into_.octaves_[negative ? -exponent : exponent];
  }

  ValueHistogram& into_;
  std::array<Octave*, 2 * kExponents> octaves_{};
  Octave lost_{};  // what is not finite
};

ValueHistogram::ValueHistogram(const RangeStats& inner) {
  if (inner.empty() || inner.nonfinite > 0) return;
  inner_low_ = std::min(inner_edge(std::min(inner.min, 0.0F)), -kSmallest);
  inner_high_ = std::max(inner_edge(std::max(inner.max, 0.0F)), kSmallest);
}

RangeStats ValueHistogram::add(std::span<const float> values) {
  constexpr std::size_t kBlock = 1024;
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const bool ends_alone = inner_low_ != inner_high_;
  const float low = ends_alone ? inner_low_ : -kSmallest, high = ends_alone ? inner_high_ : kSmallest;
  std::int64_t& between = ends_alone ? inner_ : zeros_;
  RangeStats all;
  std::optional<Counter> counter;
  std::array<float, kBlock> beyond;
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const std::span<const float> block = values.subspan(first, std::min(kBlock, values.size() - first));
    RangeStats seen;
    accumulate_range(block, seen);
    all += seen;
    between += static_cast<std::int64_t>(block.size());
    const bool below = seen.min <= low, above = seen.max >= high;
    if (!below && !above && seen.nonfinite == 0) continue;
    // Equal neighbours would wait for each other's count: the ends, which many values have behind a Clip, are counted
    // apart.
    const float bottom = below ? seen.min : kNone, top = above ? seen.max : kNone;
    const BlockBeyond found = run_values_beyond(block.data(), block.size(), low, high, bottom, top, beyond.data());
    between -= static_cast<std::int64_t>(found.kept + found.at_bottom + found.at_top);
    if (!counter) counter.emplace(*this);
    counter->count(std::span(beyond).first(found.kept));
    counter->count(bottom, found.at_bottom);
    counter->count(top, found.at_top);
  }
  range_ += all;
  return all;
}

ValueHistogram& ValueHistogram::operator+=(const ValueHistogram& other) {
  range_ += other.range_;
  zeros_ += other.zeros_;
  inner_ += other.inner_;
  for (const auto& [exponent, counts] : other.octaves_) {
    Octave& octave = octaves_[exponent];
    for (std::size_t b = 0; b < kBinsPerOctave; ++b) octave[b] += counts[b];
  }
  return *this;
}

std::vector<std::int64_t> ValueHistogram::counts() const {
  std::vector<std::int64_t> counts{zeros_, inner_, std::bit_cast<std::int32_t>(inner_low_),
                                   std::bit_cast<std::int32_t>(inner_high_)};
  for (const auto& [exponent, octave] : octaves_) {
    counts.push_back(exponent);
    counts.insert(counts.end(), octave.begin(), octave.end());
  }
  return counts;
}

ValueHistogram::ValueHistogram(const RangeStats& range, const std::vector<std::int64_t>& counts)
    : range_(range),
      inner_low_(std::bit_cast<float>(static_cast<std::int32_t>(counts.at(2)))),
      inner_high_(std::bit_cast<float>(static_cast<std::int32_t>(counts.at(3)))),
      inner_(counts.at(1)),
      zeros_(counts.at(0)) {
  for (std::size_t at = 4; at < counts.size(); at += 1 + kBinsPerOctave) {
    Octave& octave = octaves_[static_cast<int>(counts[at])];
    for (std::size_t b = 0; b < kBinsPerOctave; ++b) octave[b] = counts.at(at + 1 + b);
  }
}

std::vector<Bin> ValueHistogram::bins() const {
  std::vector<Bin> bins;
  const auto edge = [](int exponent, std::size_t bin) {
    // The bin behind the last one of an octave is the first of the next; behind the largest float32 it stays there.
    const std::uint32_t bits =
        (static_cast<std::uint32_t>(exponent) << 23U) + static_cast<std::uint32_t>(bin << kShift);
    return std::bit_cast<float>(bits >= 0x7F800000U ? 0x7F7FFFFFU : bits);
  };
  const bool is_inner = inner_ > 0;  // zeros are among them then
  const Bin middle = is_inner ? Bin{inner_low_, inner_high_, inner_} : Bin{0, 0, zeros_};
  bool middle_done = middle.count == 0;
  for (const auto& [exponent, counts] : octaves_) {
    if (exponent < 0) {
      for (std::size_t b = kBinsPerOctave; b-- > 0;) {
        if (counts[b] > 0) bins.push_back({-edge(-exponent, b + 1), -edge(-exponent, b), counts[b]});
      }
      continue;
    }
    if (!middle_done) bins.push_back(middle);
    middle_done = true;
    for (std::size_t b = 0; b < kBinsPerOctave; ++b) {
      if (counts[b] > 0) bins.push_back({edge(exponent, b), edge(exponent, b + 1), counts[b]});
    }
  }
  if (!middle_done) bins.push_back(middle);
  return bins;
}

void SharedHistograms::count_ends(std::size_t tensor, const RangeStats& inner) {
  Slot& slot = *slots_.at(tensor);
  slot.empty = ValueHistogram(inner);
  slot.halves = {slot.empty, slot.empty};
}

void SharedHistograms::add(std::size_t tensor, std::size_t half, const ValueHistogram& counted) {
  Slot& slot = *slots_.at(tensor);
  const std::lock_guard lock(slot.mutex);
  slot.halves.at(half) += counted;
}

RangeStats SharedHistograms::add(std::size_t tensor, std::size_t sample, std::span<const float> values) {
  Slot& slot = *slots_.at(tensor);
  ValueHistogram& half = slot.halves.at(sample < samples_ / 2 ? 0 : 1);
  std::unique_lock lock(slot.mutex, std::try_to_lock);
  if (lock.owns_lock()) return half.add(values);
  ValueHistogram one = slot.empty;  // another thread is counting: outside the lock
  const RangeStats seen = one.add(values);
  lock.lock();
  half += one;
  return seen;
}

}  // namespace vernier
