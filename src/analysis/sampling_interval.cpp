#include "analysis/sampling_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

namespace vernier {
namespace {

constexpr std::size_t kDraws = 1000, kTail = 25;  // 2.5 % at either end

/// `figure(sums)` of the sums of each draw.
template <class Figure>
std::optional<SamplingInterval> drawn(std::span<const SampleSums> samples, const Figure& figure) {
  if (samples.size() < kFewestForInterval) return std::nullopt;
  std::mt19937_64 random(1);
  std::vector<double> figures;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    SampleSums sums;
    for (std::size_t i = 0; i < samples.size(); ++i) sums += samples[random() % samples.size()];
    figures.push_back(figure(sums));
    if (!std::isfinite(figures.back())) return std::nullopt;
  }
  std::ranges::sort(figures);
  return SamplingInterval{figures[kTail], figures[kDraws - 1 - kTail]};
}

}  // namespace

std::optional<SamplingInterval> sqnr_interval(std::span<const SampleSums> samples) {
  return drawn(samples, [](const SampleSums& sums) { return 10 * std::log10(sums.ref_energy / sums.error_energy); });
}

std::optional<SamplingInterval> agreement_interval(std::span<const SampleSums> samples) {
  if (samples.size() < kFewestForInterval) return std::nullopt;
  std::int64_t rows = 0, agreed = 0;
  for (const SampleSums& sample : samples) {
    rows += sample.rows;
    agreed += sample.rows_agreed;
  }
  if (rows == 0) return std::nullopt;
  const bool one_each = std::ranges::all_of(samples, [](const SampleSums& sample) { return sample.rows == 1; });
  if (one_each || agreed == 0 || agreed == rows) {
    return share_interval(static_cast<double>(agreed) / static_cast<double>(rows), samples.size());
  }
  return drawn(samples, [](const SampleSums& sums) {
    return static_cast<double>(sums.rows_agreed) / static_cast<double>(sums.rows);
  });
}

SamplingInterval share_interval(double p, std::size_t n) {
  constexpr double z = 1.96;
  const auto count = static_cast<double>(n);
  const double middle = p + z * z / (2 * count);
  const double half = z * std::sqrt(p * (1 - p) / count + z * z / (4 * count * count));
  const double all = 1 + z * z / count;
  return {std::max((middle - half) / all, 0.0), std::min((middle + half) / all, 1.0)};
}

}  // namespace vernier
