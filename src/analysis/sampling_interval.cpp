#include "analysis/sampling_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace vernier {
namespace {

constexpr std::size_t kDraws = 1000, kTail = 25;  // 2.5 % at either end
constexpr double kLeastError = 0.5;               // of a draw, in that of all samples

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

/// A pooled signal-to-noise ratio in dB, and its standard error.
struct Studentized {
  double db = 0, error = 0;
};

/// `at(i)`: the i-th of `count` samples.
template <class At>
Studentized studentized(std::size_t count, const At& at) {
  double signal = 0, noise = 0;
  for (std::size_t i = 0; i < count; ++i) {
    signal += at(i).ref_energy;
    noise += at(i).error_energy;
  }
  double squares = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const double pull = at(i).ref_energy / signal - at(i).error_energy / noise;
    squares += pull * pull;
  }
  const auto n = static_cast<double>(count);
  return {10 * std::log10(signal / noise), 10 / std::numbers::ln10 * std::sqrt(squares * n / (n - 1))};
}

}  // namespace

std::optional<SamplingInterval> sqnr_interval(std::span<const SampleSums> samples) {
  if (samples.size() < kFewestForInterval) return std::nullopt;
  const Studentized all = studentized(samples.size(), [&](std::size_t i) -> const SampleSums& { return samples[i]; });
  if (!std::isfinite(all.db) || !std::isfinite(all.error)) return std::nullopt;
  std::mt19937_64 random(1);
  std::vector<std::size_t> chosen(samples.size());
  std::vector<double> distances;  // in standard errors
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    for (std::size_t& sample : chosen) sample = random() % samples.size();
    const Studentized one =
        studentized(samples.size(), [&](std::size_t i) -> const SampleSums& { return samples[chosen[i]]; });
    if (!std::isfinite(one.db)) return std::nullopt;
    const double off = one.db - all.db;
    distances.push_back(off == 0 ? 0 : off / std::max(one.error, kLeastError * all.error));
  }
  std::ranges::sort(distances);
  return SamplingInterval{all.db - distances[kDraws - 1 - kTail] * all.error, all.db - distances[kTail] * all.error};
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
