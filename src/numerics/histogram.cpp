#include "numerics/histogram.h"

#include <bit>

namespace vernier {
namespace {

constexpr int kShift = 23 - ValueHistogram::kMantissaBits;
constexpr std::size_t kKeys = std::size_t{1} << (32 - kShift);  // sign, exponent, first bits of the mantissa
constexpr std::size_t kExponents = 256;
constexpr std::size_t kSign = kKeys / 2;

/// Counts of one tensor of one sample, by the first bits of its values. All zero between uses. Two tables in turn,
/// because equal neighbours (the zeros behind a Relu) would wait for each other's count.
struct Scratch {
  std::vector<std::uint32_t> even = std::vector<std::uint32_t>(kKeys);
  std::vector<std::uint32_t> odd = std::vector<std::uint32_t>(kKeys);
};

void count_keys(std::span<const float> values, Scratch& scratch) {
  std::uint32_t* const even = scratch.even.data();
  std::uint32_t* const odd = scratch.odd.data();
  const auto key = [](float value) { return std::bit_cast<std::uint32_t>(value) >> kShift; };
  std::size_t i = 0;
  for (; i + 4 <= values.size(); i += 4) {
    ++even[key(values[i])];
    ++odd[key(values[i + 1])];
    ++even[key(values[i + 2])];
    ++odd[key(values[i + 3])];
  }
  for (; i < values.size(); ++i) ++even[key(values[i])];
}

}  // namespace

void ValueHistogram::add(std::span<const float> values) {
  // Counters of 32 bits cannot overflow within a chunk.
  constexpr std::size_t kChunk = std::size_t{1} << 30U;
  for (; values.size() > kChunk; values = values.subspan(kChunk)) add(values.first(kChunk));
  RangeStats seen;
  accumulate_range(values, seen);
  range_ += seen;
  if (values.empty()) return;
  thread_local Scratch scratch;
  count_keys(values, scratch);
  auto left = static_cast<std::int64_t>(values.size());
  // Takes the counts of one exponent and sign, and leaves zeros behind.
  const auto take = [&](std::size_t exponent, bool negative, Octave& into) {
    const std::size_t first = (negative ? kSign : 0) + exponent * kBinsPerOctave;
    std::uint32_t* const even = scratch.even.data() + first;
    std::uint32_t* const odd = scratch.odd.data() + first;
    std::int64_t sum = 0;
    for (std::size_t b = 0; b < kBinsPerOctave; ++b) {
      into[b] = static_cast<std::int64_t>(even[b]) + odd[b];
      sum += into[b];
      even[b] = odd[b] = 0;
    }
    left -= sum;
    return sum;
  };
  Octave counts;
  for (const bool negative : {false, true}) {
    zeros_ += take(0, negative, counts);
    if (seen.nonfinite > 0) take(kExponents - 1, negative, counts);
  }
  std::size_t exponent = (std::bit_cast<std::uint32_t>(seen.absmax()) >> 23U) & 0xFFU;
  for (; left > 0 && exponent > 0; --exponent) {
    for (const bool negative : {false, true}) {
      if (take(exponent, negative, counts) == 0) continue;
      Octave& octave = octaves_[negative ? -static_cast<int>(exponent) : static_cast<int>(exponent)];
      for (std::size_t b = 0; b < kBinsPerOctave; ++b) octave[b] += counts[b];
    }
  }
}

ValueHistogram& ValueHistogram::operator+=(const ValueHistogram& other) {
  range_ += other.range_;
  zeros_ += other.zeros_;
  for (const auto& [exponent, counts] : other.octaves_) {
    Octave& octave = octaves_[exponent];
    for (std::size_t b = 0; b < kBinsPerOctave; ++b) octave[b] += counts[b];
  }
  return *this;
}

std::vector<std::int64_t> ValueHistogram::counts() const {
  std::vector<std::int64_t> counts{zeros_};
  for (const auto& [exponent, octave] : octaves_) {
    counts.push_back(exponent);
    counts.insert(counts.end(), octave.begin(), octave.end());
  }
  return counts;
}

ValueHistogram::ValueHistogram(const RangeStats& range, const std::vector<std::int64_t>& counts)
    : range_(range), zeros_(counts.at(0)) {
  for (std::size_t at = 1; at < counts.size(); at += 1 + kBinsPerOctave) {
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
  bool zeros_done = zeros_ == 0;
  for (const auto& [exponent, counts] : octaves_) {
    if (exponent < 0) {
      for (std::size_t b = kBinsPerOctave; b-- > 0;) {
        if (counts[b] > 0) bins.push_back({-edge(-exponent, b + 1), -edge(-exponent, b), counts[b]});
      }
      continue;
    }
    if (!zeros_done) bins.push_back({0, 0, zeros_});
    zeros_done = true;
    for (std::size_t b = 0; b < kBinsPerOctave; ++b) {
      if (counts[b] > 0) bins.push_back({edge(exponent, b), edge(exponent, b + 1), counts[b]});
    }
  }
  if (!zeros_done) bins.push_back({0, 0, zeros_});
  return bins;
}

void SharedHistograms::add(std::size_t tensor, std::size_t sample, std::span<const float> values) {
  if (!wants(tensor)) return;
  ValueHistogram one;
  one.add(values);  // outside the lock
  Slot& slot = *slots_.at(tensor);
  const std::lock_guard lock(slot.mutex);
  slot.halves.at(sample < samples_ / 2 ? 0 : 1) += one;
}

}  // namespace vernier
