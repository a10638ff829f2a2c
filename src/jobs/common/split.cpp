#include "jobs/common/split.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace vernier {
namespace {

constexpr std::size_t kMostToCalibrate = 512;

/// The last `count` of what is left.
std::vector<std::size_t> taken(std::vector<std::size_t>& left, std::size_t count) {
  std::vector<std::size_t> part(left.end() - static_cast<std::ptrdiff_t>(count), left.end());
  left.resize(left.size() - count);
  std::ranges::sort(part);
  return part;
}

}  // namespace

std::optional<SampleParts> parts_of(std::size_t samples, Split split) {
  if (split == Split::None || samples < kFewestToSplit) return std::nullopt;
  std::vector<std::size_t> left(samples);
  std::iota(left.begin(), left.end(), std::size_t{0});
  // Not std::shuffle: its draws differ between standard libraries.
  std::mt19937_64 random(1);
  for (std::size_t i = samples - 1; i > 0; --i) std::swap(left[i], left[random() % (i + 1)]);
  const std::size_t third = samples / 3;
  SampleParts parts;
  if (split != Split::Judgement) parts.calibration = taken(left, std::min(third, kMostToCalibrate));
  if (split != Split::Calibration) parts.judgement = taken(left, third);
  parts.search = taken(left, left.size());
  return parts;
}

ChosenSamples::ChosenSamples(std::shared_ptr<const SampleSource> all, std::vector<std::size_t> index)
    : all_(std::move(all)), index_(std::move(index)) {}

std::vector<std::size_t> numbers_of(const SampleSource& samples) {
  std::vector<std::size_t> numbers(samples.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = samples.number(i);
  return numbers;
}

}  // namespace vernier
