// What single times say: the middle, the spread, and how two rows compare that were timed in turns.
#pragma once

#include <cstddef>
#include <vector>

#include "vernier/report/bench.h"

namespace vernier {

/// The times of one row, round by round, in milliseconds.
using Rounds = std::vector<std::vector<double>>;

/// The value that `share` (0 to 1) of `sorted` lie below, linear between neighbours. Edge: at least one.
double quantile(const std::vector<double>& sorted, double share);

/// `percentiles` in percent. Edge: at least one time.
Latency latency_of(std::vector<double> milliseconds, const std::vector<double>& percentiles);

/// Medians of all times, and of the rounds each. Edge: both have as many rounds, with a time in each.
TimeRatio ratio_of(const Rounds& row, const Rounds& first);

/// In how many rounds all rows are timed, and what each gets of a round: at least `least` runs, and `seconds`. Rounds
/// are short, so that what else the machine does meets all rows alike; but the slowest row must run in each.
struct Schedule {
  std::size_t rounds = 1, least = 1;
  double seconds = 0;
};
/// `slowest`: seconds of one run of the slowest row; `iterations` and `seconds`: what each row gets in all.
Schedule schedule_of(double slowest, std::size_t iterations, double seconds);

}  // namespace vernier
