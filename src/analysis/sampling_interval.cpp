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
constexpr double kLeastError = 0.5;               // of a draw, in that of all samples
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
  const Studentized all = studentized(samples.size(), [&](std::size_t i) -> const SampleSums& { return samples[i]; });
  if (!std::isfinite(all.db) || !std::isfinite(all.error)) return std::nullopt;
  SqnrSpread spread;
  spread.samples_ = samples.size();
  spread.db_ = all.db;
  spread.error_ = all.error;
  spread.log_normal_low_ = std::max(log_normal_low(samples), kOpposite);
  double noise = 0, worst = 0;
  for (const SampleSums& sample : samples) {
    noise += sample.error_energy;
    worst = std::max(worst, sample.error_energy);
  }
  spread.worst_share_ = worst / noise;
  std::mt19937_64 random(1);
  std::vector<std::size_t> chosen(samples.size());
  for (std::size_t draw = 0; draw < kDraws; ++draw) {
    for (std::size_t& sample : chosen) sample = random() % samples.size();
    const Studentized one =
        studentized(samples.size(), [&](std::size_t i) -> const SampleSums& { return samples[chosen[i]]; });
    if (!std::isfinite(one.db)) return std::nullopt;
    const double off = one.db - all.db;
    spread.distances_.push_back(off == 0 ? 0 : off / std::max(one.error, kLeastError * all.error));
  }
  std::ranges::sort(spread.distances_);
  return spread;
}

double SqnrSpread::low(double confidence, std::size_t draws) const {
  const double drawn = db_ - distances_[draws] * error_;
  const double more_like_worst = db_ - 10 * std::log10(1 + (most_events(confidence) - 1) * worst_share_);
  return std::max(drawn, std::min(more_like_worst, log_normal_low_));
}

SamplingInterval SqnrSpread::interval() const {
  return {std::min(low(kTwoSided, kDraws - 1 - kTail), log_normal_low_), db_ - distances_[kTail] * error_};
}

std::optional<double> SqnrSpread::above(double confidence) const {
  if (samples_ < kFewestToClaim) return std::nullopt;
  return low(std::max(confidence, kTwoSided), draws_of(confidence));
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
