#include "analysis/paired_gain.h"

#include <cmath>
#include <cstddef>
#include <numeric>

namespace vernier {
namespace {

/// A gain that stands for all: one side is exact, or not finite.
constexpr double kCertain = 1e3;

/// Sums of energies, `other` and one's own, of each output.
double nats_between(const std::vector<double>& other, const std::vector<double>& own) {
  double nats = 0;
  for (std::size_t o = 0; o < own.size(); ++o) {
    if (other[o] == own[o]) continue;
    if (!std::isfinite(own[o]) || !std::isfinite(other[o]) || other[o] <= 0 || own[o] <= 0) {
      return own[o] < other[o] ? kCertain : -kCertain;
    }
    nats += std::log(other[o] / own[o]);
  }
  return nats;
}

/// Of each sample, the sums of all others, of each output. Without a difference of sums, in which one large sample
/// would leave nothing of the others.
std::vector<std::vector<double>> sums_of_others(const Noise& noise) {
  const std::size_t samples = noise.front().size();
  std::vector<std::vector<double>> others(samples, std::vector<double>(noise.size(), 0));
  for (std::size_t o = 0; o < noise.size(); ++o) {
    double before = 0, behind = 0;
    for (std::size_t i = 0; i < samples; ++i) {
      others[i][o] += before;
      before += noise[o][i];
      others[samples - 1 - i][o] += behind;
      behind += noise[o][samples - 1 - i];
    }
  }
  return others;
}

std::vector<double> sums_of(const Noise& noise) {
  std::vector<double> sums;
  for (const std::vector<double>& output : noise) sums.push_back(std::accumulate(output.begin(), output.end(), 0.0));
  return sums;
}

}  // namespace

Gain gain_over(const Noise& other, const Noise& noise) {
  const double nats = nats_between(sums_of(other), sums_of(noise));
  if (std::abs(nats) >= kCertain) return {nats, 0};
  const std::size_t samples = noise.front().size();
  if (samples < 2) return {nats, kCertain};
  const std::vector<std::vector<double>> others = sums_of_others(other), own = sums_of_others(noise);
  std::vector<double> without;
  for (std::size_t i = 0; i < samples; ++i) without.push_back(nats_between(others[i], own[i]));
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
