#include "analysis/sampling_interval.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <random>
#include <vector>

#include "analysis/quantiles.h"

namespace vernier {
namespace {

constexpr std::size_t kDraws = 1000, kTail = 25;  // 2.5 % at either end
constexpr double kTwoSided = 0.975;               // of each end of an interval of 95 %
constexpr double kUnseen = 5;                     // of the fifth that SqnrSpread names
constexpr double kOpposite = -6.02;               // dB of an output as large as the reference, of opposite sign

/// `figure(sums)` of the sums of each draw, in ascending order; empty where there is none.
template <class Figure>
std::vector<double> drawn(std::span<const SampleSums> samples, const Figure& figure) {
  std::mt19937_64 random(1);
  std::vector<double> figures;
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    SampleSums sums;
    for (std::size_t i = 0; i < samples.size(); ++i) sums += samples[random() % samples.size()];
    figures.push_back(figure(sums));
    if (!std::isfinite(figures.back())) return {};
  }
  std::ranges::sort(figures);
  return figures;
}

/// SqnrSpread::interval() says the formula. Infinite where half of the samples have no noise: it says nothing then.
double log_normal_low(std::span<const SampleSums> samples) {
  const auto n = static_cast<double>(samples.size());
  double signal = 0;
  std::vector<double> logs;
  for (const SampleSums& sample : samples) {
    signal += sample.ref_energy;
    logs.push_back(std::log(sample.error_energy));
  }
  std::ranges::sort(logs);
  const double median = (logs[(logs.size() - 1) / 2] + logs[logs.size() / 2]) / 2;
  if (!std::isfinite(median)) return std::numeric_limits<double>::infinity();
  double squares = 0;
  for (const double value : logs) squares += value > median ? (value - median) * (value - median) : 0;
  const double variance = 2 * squares / (n - 2);
  const double error = 1.96 * std::sqrt(variance / n + variance * variance / (2 * (n - 1)));
  return 10 * std::log10(signal / n) - 10 / std::numbers::ln10 * (median + variance / 2 + error);
}

std::size_t draws_of(double share) { return std::min(static_cast<std::size_t>(share * kDraws), kDraws - 1); }

/// The share of all rows that agree, and the draws of it; none where Wilson's interval says it.
struct Agreement {
  double share = 0;
  std::vector<double> draws;
};

std::optional<Agreement> agreement_of(std::span<const SampleSums> samples) {
  if (samples.size() < kFewestForInterval) return std::nullopt;
  std::int64_t rows = 0, agreed = 0;
  for (const SampleSums& sample : samples) {
    rows += sample.rows;
    agreed += sample.rows_agreed;
  }
  if (rows == 0) return std::nullopt;
  Agreement found{static_cast<double>(agreed) / static_cast<double>(rows), {}};
  const bool one_each = std::ranges::all_of(samples, [](const SampleSums& sample) { return sample.rows == 1; });
  if (one_each || agreed == 0 || agreed == rows) return found;
  found.draws = drawn(samples, [](const SampleSums& sums) {
    return static_cast<double>(sums.rows_agreed) / static_cast<double>(sums.rows);
  });
  if (found.draws.empty()) return std::nullopt;
  return found;
}

}  // namespace

std::optional<SqnrSpread> SqnrSpread::of(std::span<const SampleSums> samples) {
  if (samples.size() < kFewestForInterval) return std::nullopt;
  double signal = 0, noise = 0;
  for (const SampleSums& sample : samples) {
    signal += sample.ref_energy;
    noise += sample.error_energy;
  }
  SqnrSpread spread;
  double squares = 0;
  for (const SampleSums& sample : samples) {
    const double pull = sample.error_energy / noise - sample.ref_energy / signal;
    squares += pull * pull;
    spread.worst_pull_ = std::max(spread.worst_pull_, pull);
  }
  const auto n = static_cast<double>(samples.size());
  spread.samples_ = samples.size();
  spread.db_ = 10 * std::log10(signal / noise);
  spread.error_ = 10 / std::numbers::ln10 * std::sqrt(squares * n / (n - 1));
  if (!std::isfinite(spread.db_) || !std::isfinite(spread.error_)) return std::nullopt;
  spread.log_normal_low_ = std::max(log_normal_low(samples), kOpposite);
  return spread;
}

double SqnrSpread::by_error(double confidence) const {
  return std::numbers::sqrt2 * error_ * student_quantile(confidence, static_cast<double>(samples_ - 1));
}

double SqnrSpread::exceeded(double confidence) const {
  const double events = most_new_events(1 - (1 - confidence) / kUnseen);
  return db_ - std::max(by_error(confidence), 10 * std::log10(1 + (events - 1) * worst_pull_));
}

SamplingInterval SqnrSpread::interval() const {
  return {std::min(exceeded(kTwoSided), log_normal_low_), db_ + by_error(kTwoSided)};
}

std::optional<double> SqnrSpread::above(double confidence) const {
  if (samples_ < kFewestToClaim) return std::nullopt;
  return exceeded(confidence);
}

std::optional<SamplingInterval> agreement_interval(std::span<const SampleSums> samples) {
  const std::optional<Agreement> found = agreement_of(samples);
  if (!found) return std::nullopt;
  if (found->draws.empty()) return share_interval(found->share, samples.size());
  return SamplingInterval{found->draws[kTail], found->draws[kDraws - 1 - kTail]};
}

std::optional<double> agreement_above(std::span<const SampleSums> samples, double confidence) {
  if (samples.size() < kFewestToClaim) return std::nullopt;
  const std::optional<Agreement> found = agreement_of(samples);
  if (!found) return std::nullopt;
  if (found->draws.empty()) return share_above(found->share, samples.size(), confidence);
  return found->draws[draws_of(1 - confidence)];
}

SamplingInterval share_interval(double p, std::size_t n, double z) {
  const auto count = static_cast<double>(n);
  const double middle = p + z * z / (2 * count);
  const double half = z * std::sqrt(p * (1 - p) / count + z * z / (4 * count * count));
  const double all = 1 + z * z / count;
  return {std::max((middle - half) / all, 0.0), std::min((middle + half) / all, 1.0)};
}

double share_above(double p, std::size_t n, double confidence) {
  return share_interval(p, n, normal_quantile(confidence)).low;
}

}  // namespace vernier
