#include "analysis/paired_gain.h"

#include <cmath>
#include <cstddef>
#include <numeric>
#include <optional>

namespace vernier {
namespace {

/// A gain that stands for all: one side is exact, or not finite.
constexpr double kCertain = 1e3;

double nats_between(const Noise& other, const Noise& noise, std::optional<std::size_t> left_out = {}) {
  double nats = 0;
  for (std::size_t o = 0; o < noise.size(); ++o) {
    double before = 0;
    double after = 0;
    for (std::size_t i = 0; i < noise[o].size(); ++i) {
      if (i == left_out) continue;
      before += other[o][i];
      after += noise[o][i];
    }
    if (before == after) continue;
    if (!std::isfinite(after) || !std::isfinite(before) || before <= 0 || after <= 0) {
      return after < before ? kCertain : -kCertain;
    }
    nats += std::log(before / after);
  }
  return nats;
}

}  // namespace

Gain gain_over(const Noise& other, const Noise& noise) {
  const double nats = nats_between(other, noise);
  if (std::abs(nats) >= kCertain) return {nats, 0};
  const std::size_t samples = noise.front().size();
  if (samples < 2) return {nats, kCertain};
  std::vector<double> without;
  for (std::size_t i = 0; i < samples; ++i) without.push_back(nats_between(other, noise, i));
  const auto n = static_cast<double>(samples);
  const double mean = std::accumulate(without.begin(), without.end(), 0.0) / n;
  double squares = 0;
  for (const double value : without) squares += (value - mean) * (value - mean);
  return {nats, std::sqrt(squares * (n - 1) / n)};
}

Gain typical_gain(const std::vector<double>& other, const std::vector<double>& log_noise) {
  const auto n = static_cast<double>(log_noise.size());
  double mean = 0;
  for (std::size_t i = 0; i < log_noise.size(); ++i) mean += (other[i] - log_noise[i]) / n;
  if (log_noise.size() < 2) return {mean, kCertain};
  double squares = 0;
  for (std::size_t i = 0; i < log_noise.size(); ++i) squares += std::pow(other[i] - log_noise[i] - mean, 2);
  return {mean, std::sqrt(squares / (n * (n - 1)))};
}

}  // namespace vernier
