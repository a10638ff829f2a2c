#include "numerics/histogram.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

namespace vernier {
namespace {

constexpr int kShift = 23 - ValueHistogram::kMantissaBits;
constexpr std::size_t kExponents = 256;
constexpr float kSmallest = std::numeric_limits<float>::min();  // below it is the bin of zero

/// The end of the bin of `value` that is nearer to zero.
float inner_edge(float value) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(value) >> kShift << kShift); }

}  // namespace

/// Counts straight into the octaves of a histogram. Equal neighbours would wait for each other's count: of the value
/// that has many, the zero behind a Relu, two are kept in turns.
class ValueHistogram::Counter {
 public:
  explicit Counter(ValueHistogram& into) : into_(into) {}
  ~Counter() {
    for (const Octave& zeros : zeros_) {
      for (const std::int64_t count : zeros) into_.zeros_ += count;
    }
  }
  Counter(const Counter&) = delete;
  Counter& operator=(const Counter&) = delete;

  void count(std::span<const float> values) {
    std::size_t i = 0;
    for (; i + 2 <= values.size(); i += 2) {
      count_one(values[i], 0);
      count_one(values[i + 1], 1);
    }
    if (i < values.size()) count_one(values[i], 0);
  }

 private:
  void count_one(float value, std::size_t turn) {
    const std::uint32_t key = std::bit_cast<std::uint32_t>(value) >> kShift;
    Octave* octave = octaves_[turn][key / kBinsPerOctave];
    if (octave == nullptr) octave = find(key / kBinsPerOctave, turn);
    ++(*octave)[key % kBinsPerOctave];
  }

  Octave* find(std::size_t place, std::size_t turn) {
    const auto exponent = static_cast<int>(place % kExponents);
    const bool negative = place >= kExponents;
    Octave* const found = exponent == 0                ? &zeros_[turn]
                          : exponent == kExponents - 1 ? &lost_
                                                       : &into_.octaves_[negative ? -exponent : exponent];
    return octaves_[turn][place] = found;
  }

  ValueHistogram& into_;
  std::array<std::array<Octave*, 2 * kExponents>, 2> octaves_{};
  std::array<Octave, 2> zeros_{};
  Octave lost_{};  // what is not finite
};

ValueHistogram::ValueHistogram(const RangeStats& inner) {
  if (inner.empty() || inner.nonfinite > 0) return;
  inner_low_ = std::min(inner_edge(std::min(inner.min, 0.0F)), -kSmallest);
  inner_high_ = std::max(inner_edge(std::max(inner.max, 0.0F)), kSmallest);
}

void ValueHistogram::add(std::span<const float> values) {
  RangeStats seen;
  accumulate_range(values, seen);
  range_ += seen;
  if (values.empty()) return;
  if (seen.nonfinite == 0 && seen.min > inner_low_ && seen.max < inner_high_) {
    inner_ += static_cast<std::int64_t>(values.size());
    return;
  }
  Counter counter(*this);
  if (inner_low_ == inner_high_) return counter.count(values);
  std::array<float, 1024> outer;
  for (std::size_t first = 0; first < values.size(); first += outer.size()) {
    const std::span<const float> part = values.subspan(first, std::min(outer.size(), values.size() - first));
    std::size_t kept = 0;
    for (const float value : part) {
      outer[kept] = value;
      kept += value > inner_low_ && value < inner_high_ ? 0 : 1;
    }
    inner_ += static_cast<std::int64_t>(part.size() - kept);
    counter.count(std::span(outer).first(kept));
  }
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

void SharedHistograms::add(std::size_t tensor, std::size_t sample, std::span<const float> values) {
  if (!wants(tensor)) return;
  Slot& slot = *slots_.at(tensor);
  ValueHistogram& half = slot.halves.at(sample < samples_ / 2 ? 0 : 1);
  std::unique_lock lock(slot.mutex, std::try_to_lock);
  if (lock.owns_lock()) return half.add(values);
  ValueHistogram one = slot.empty;  // another thread is counting: outside the lock
  one.add(values);
  lock.lock();
  half += one;
}

}  // namespace vernier
