#include "jobs/bench/latency_statistics.h"

#include <algorithm>
#include <cstddef>

#include "base/median.h"

namespace vernier {
namespace {

constexpr double kTurn = 0.02;  // seconds: longer than what a switch of rows disturbs, shorter than what else happens
constexpr std::size_t kFewestRounds = 5;

}  // namespace

double quantile(const std::vector<double>& sorted, double share) {
  const double place = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], place - static_cast<double>(below));
}

Latency latency_of(std::vector<double> milliseconds, const std::vector<double>& percentiles) {
  std::ranges::sort(milliseconds);
  Latency latency;
  latency.median = quantile(milliseconds, 0.5);
  latency.p10 = quantile(milliseconds, 0.1);
  latency.p90 = quantile(milliseconds, 0.9);
  for (const double percent : percentiles) {
    latency.percentiles.emplace_back(percent, quantile(milliseconds, percent / 100));
  }
  return latency;
}

TimeRatio ratio_of(const Rounds& row, const Rounds& first) {
  const auto all = [](const Rounds& rounds) {
    std::vector<double> times;
    for (const std::vector<double>& round : rounds) times.insert(times.end(), round.begin(), round.end());
    return times;
  };
  std::vector<double> ratios;
  for (std::size_t i = 0; i < row.size(); ++i) ratios.push_back(median(row[i]) / median(first[i]));
  std::ranges::sort(ratios);
  return {median(all(row)) / median(all(first)), quantile(ratios, 0.1), quantile(ratios, 0.9)};
}

Schedule schedule_of(double slowest, std::size_t iterations, double seconds) {
  const double fit = seconds / std::max(kTurn, slowest);
  Schedule schedule;
  schedule.rounds = std::max(static_cast<std::size_t>(fit), std::min(kFewestRounds, iterations));
  schedule.rounds = std::max<std::size_t>(schedule.rounds, 1);
  schedule.least = std::max<std::size_t>(1, (iterations + schedule.rounds - 1) / schedule.rounds);
  schedule.seconds = seconds / static_cast<double>(schedule.rounds);
  return schedule;
}

}  // namespace vernier
