#include "jobs/bench/latency_statistics.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace vernier {
namespace {

TEST(LatencyStatistics, QuantilesAreLinearBetweenNeighbours) {
  EXPECT_DOUBLE_EQ(quantile({7}, 0.9), 7);
  EXPECT_DOUBLE_EQ(quantile({1, 2}, 0), 1);
  EXPECT_DOUBLE_EQ(quantile({1, 2}, 1), 2);
  EXPECT_DOUBLE_EQ(quantile({1, 2, 4}, 0.75), 3);
}

TEST(LatencyStatistics, OneSlowRunMovesNeitherMedianNorSpread) {
  std::vector<double> times(99, 1.0);
  times.push_back(500);
  const Latency latency = latency_of(times, {50, 99.5});
  EXPECT_DOUBLE_EQ(latency.median, 1);
  EXPECT_DOUBLE_EQ(latency.p10, 1);
  EXPECT_DOUBLE_EQ(latency.p90, 1);
  ASSERT_EQ(latency.percentiles.size(), 2U);
  EXPECT_DOUBLE_EQ(latency.percentiles[0].second, 1);
  EXPECT_GT(latency.percentiles[1].second, 100);
}

TEST(LatencyStatistics, NoiseThatMeetsBothRowsOfARoundLeavesTheirRatio) {
  Rounds first, row;
  for (const double noise : {1.0, 1.2, 3.0, 1.0, 0.9}) {
    first.push_back({2 * noise, 2 * noise, 2 * noise});
    row.push_back({noise, noise});
  }
  const TimeRatio ratio = ratio_of(row, first);
  EXPECT_DOUBLE_EQ(ratio.ratio, 0.5);
  EXPECT_DOUBLE_EQ(ratio.low, 0.5);
  EXPECT_DOUBLE_EQ(ratio.high, 0.5);
}

TEST(LatencyStatistics, EveryRowGetsItsRunsAndItsSeconds) {
  for (const double slowest : {1e-5, 0.004, 0.3, 20.0}) {
    for (const std::size_t iterations : {0UL, 1UL, 4UL, 10UL, 1000UL}) {
      for (const double seconds : {0.0, 0.01, 3.0}) {
        const Schedule schedule = schedule_of(slowest, iterations, seconds);
        ASSERT_GE(schedule.rounds, 1U);
        ASSERT_GE(schedule.least, 1U);
        EXPECT_GE(schedule.rounds * schedule.least, iterations);
        EXPECT_NEAR(static_cast<double>(schedule.rounds) * schedule.seconds, seconds, 1e-9);
      }
    }
  }
}

TEST(LatencyStatistics, RoundsAreShortButTheSlowestRowRunsInEach) {
  EXPECT_EQ(schedule_of(1e-4, 10, 3).rounds, 150U);
  EXPECT_EQ(schedule_of(0.5, 10, 3).rounds, 6U);
  const Schedule alone = schedule_of(0.5, 1, 0);
  EXPECT_EQ(alone.rounds * alone.least, 1U) << "trtexec's --iterations=1 --duration=0";
  EXPECT_EQ(schedule_of(0.5, 4, 0).rounds, 4U);
}

}  // namespace
}  // namespace vernier
