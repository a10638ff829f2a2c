#include "report/text/stats_text.h"

#include <gtest/gtest.h>

#include "vernier/comparison.h"

namespace vernier {
namespace {

ValueStats some_stats() {
  ValueStats stats;
  stats.count = 256;
  stats.mean = 0.0027489123;
  stats.max = 0.500061;
  stats.max_at = 147;
  stats.p99 = 1e-12;
  return stats;
}

TEST(StatsToText, HasThePeersForm) {
  EXPECT_EQ(
      stats_to_text(some_stats(), {2, 8, 16}),
      "mean=0.0027489, std-dev=0, var=0, median=0, min=0 at (0, 0, 0), max=0.50006 at (1, 1, 3), avg-magnitude=0, "
      "p90=0, p95=0, p99=1e-12");
}

TEST(StatsToText, LeavesPercentilesOut) {
  EXPECT_TRUE(stats_to_text(some_stats(), {256}, /*percentiles=*/false).ends_with("avg-magnitude=0"));
}

TEST(StatsToText, SaysWhatWasLeftOut) {
  ValueStats stats = some_stats();
  stats.nan = 2;
  stats.positive_infinite = 1;
  EXPECT_TRUE(stats_to_text(stats, {256}).ends_with(" | 3 of 256 values are not finite (2 NaN, 1 inf): left out"));
  stats.count = 3;
  EXPECT_EQ(stats_to_text(stats, {3}), "no finite values: 3 of 3 values are not finite (2 NaN, 1 inf)");
  EXPECT_EQ(stats_to_text(ValueStats{}, {0}), "no elements");
}

TEST(HistogramToText, HasThePeersForm) {
  EXPECT_EQ(histogram_to_text({0, 10, {4, 0, 0, 0, 0, 0, 0, 0, 0, 1}}),
            "---- Histogram ----\n"
            "Bin Range|  Num Elems | Visualization\n"
            "(0 , 1 ) |          4 | ########################################\n"
            "(1 , 2 ) |          0 | \n"
            "(2 , 3 ) |          0 | \n"
            "(3 , 4 ) |          0 | \n"
            "(4 , 5 ) |          0 | \n"
            "(5 , 6 ) |          0 | \n"
            "(6 , 7 ) |          0 | \n"
            "(7 , 8 ) |          0 | \n"
            "(8 , 9 ) |          0 | \n"
            "(9 , 10) |          1 | ##########\n");
  EXPECT_EQ(histogram_to_text({0, 1, {0, 0}}), "");
}

}  // namespace
}  // namespace vernier
