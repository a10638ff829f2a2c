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
  return drawn(samples, [](const SampleSums& sums) {
    return static_cast<double>(sums.rows_agreed) / static_cast<double>(sums.rows);
  });
}

}  // namespace vernier
