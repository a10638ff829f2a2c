#include "numerics/metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "oracle.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaNFloat = std::numeric_limits<float>::quiet_NaN();
constexpr double kInfinityDouble = std::numeric_limits<double>::infinity();

ErrorStats stats_of(const std::vector<float>& ref, const std::vector<float>& got) {
  ErrorStats stats;
  accumulate_error(ref, got, stats);
  return stats;
}

TEST(AccumulateError, SumsByHand) {
  const ErrorStats stats = stats_of({3, -4, 0}, {2, -4, 0.5f});
  EXPECT_EQ(stats.count, 3);
  EXPECT_EQ(stats.ref_energy, 25);
  EXPECT_EQ(stats.got_energy, 20.25);
  EXPECT_EQ(stats.dot, 22);
  EXPECT_EQ(stats.error_energy, 1.25);
  EXPECT_EQ(stats.error_sum, -0.5);
  EXPECT_EQ(stats.max_abs_error, 1);
  EXPECT_EQ(stats.max_abs_ref, 4);
}

TEST(AccumulateError, CountsNonFinitePairsAndLeavesThemOut) {
  const ErrorStats stats =
      stats_of({1, kNaNFloat, kInf, 2, 3, kNaNFloat, -kInf, 5}, {1, 7, kInf, kNaNFloat, -kInf, kNaNFloat, 0, 4});
  EXPECT_EQ(stats.count, 8);
  EXPECT_EQ(stats.ref_nonfinite, 4);
  EXPECT_EQ(stats.got_nan, 1);
  EXPECT_EQ(stats.got_inf, 1);
  EXPECT_EQ(stats.ref_energy, 26);
  EXPECT_EQ(stats.got_energy, 17);
  EXPECT_EQ(stats.error_energy, 1);
  EXPECT_EQ(stats.max_abs_ref, 5);
  EXPECT_FALSE(stats.finite());
}

TEST(AccumulateError, CannotOverflow) {
  const std::vector<float> ref(10000, std::numeric_limits<float>::max());
  const std::vector<float> got(10000, -std::numeric_limits<float>::max());
  const ErrorStats stats = stats_of(ref, got);
  EXPECT_EQ(stats.ref_nonfinite, 0);
  EXPECT_TRUE(std::isfinite(stats.error_energy));
  EXPECT_DOUBLE_EQ(cosine(stats), -1.0);
}

TEST(AccumulateError, StaysCloseToTheExactSumOfMillions) {
  std::mt19937_64 random(test_seed());
  SCOPED_TRACE(test_seed());
  const std::vector<float> ref = random_magnitudes(random, 1 << 20, -3, 3);
  const std::vector<float> got = random_magnitudes(random, 1 << 20, -3, 3);
  long double exact = 0;
  for (std::size_t i = 0; i < ref.size(); ++i) {
    const long double e = static_cast<long double>(ref[i]) - static_cast<long double>(got[i]);
    exact += e * e;
  }
  // 256 additions in a lane, 3 in the tree, 512 blocks: the sum of positive terms is off by at most that many epsilons.
  const double bound = (256 + 3 + 512) * std::numeric_limits<double>::epsilon();
  EXPECT_NEAR(stats_of(ref, got).error_energy / static_cast<double>(exact), 1.0, bound);
}

TEST(AccumulateError, AddsUpOverCalls) {
  ErrorStats together = stats_of({1, 2}, {1, 3});
  accumulate_error(std::vector<float>{4}, std::vector<float>{6}, together);
  ErrorStats merged = stats_of({1, 2}, {1, 3});
  merged += stats_of({4}, {6});
  EXPECT_EQ(together, merged);
  EXPECT_EQ(together.error_energy, 5);
  EXPECT_EQ(together.max_abs_error, 2);
}

TEST(AccumulateError, RefusesDifferentLengths) {
  ErrorStats stats;
  EXPECT_THROW(accumulate_error(std::vector<float>{1}, std::vector<float>{1, 2}, stats), Error);
}

TEST(SqnrDb, IsTheRatioOfEnergies) { EXPECT_DOUBLE_EQ(sqnr_db(stats_of({10, 10}, {11, 9})), 20.0); }

TEST(SqnrDb, HasDefinedEdges) {
  EXPECT_EQ(sqnr_db(stats_of({1, 2}, {1, 2})), kInfinityDouble);
  EXPECT_EQ(sqnr_db(stats_of({0, 0}, {0, 0})), kInfinityDouble);
  EXPECT_EQ(sqnr_db(stats_of({0, 0}, {0, 1})), -kInfinityDouble);
  EXPECT_EQ(sqnr_db(stats_of({1, 2}, {1, kInf})), -kInfinityDouble);
  EXPECT_EQ(sqnr_db(stats_of({1}, {kNaNFloat})), -kInfinityDouble);
  EXPECT_EQ(sqnr_db(ErrorStats{}), std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(sqnr_db(stats_of({kNaNFloat}, {1}))));
  EXPECT_EQ(sqnr_db(stats_of({kNaNFloat, 1}, {kNaNFloat, 1})), kInfinityDouble);
}

TEST(SqnrDb, DropsSixDbPerLostBit) {
  std::mt19937_64 random(test_seed());
  SCOPED_TRACE(test_seed());
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> ref(100000);
  for (float& value : ref) value = uniform(random);
  std::vector<float> got(ref.size());
  double finer_db = 0;
  for (int bits = 8; bits >= 5; --bits) {
    round_to(params_of(Format::Int8, std::ldexp(1.0f, 1 - bits) * 1.01f), ref, got);
    const double db = sqnr_db(stats_of(ref, got));
    // Uniform noise of 100000 samples: 20 log10(2) = 6.02 dB, give or take the 0.02 dB of a finite sample and grid.
    if (bits < 8) {
      EXPECT_NEAR(finer_db - db, 6.02, 0.1) << bits;
    }
    finer_db = db;
  }
  EXPECT_NEAR(finer_db, 5 * 6.02, 0.2);
}

TEST(Cosine, IsTheAngleBetweenTheTensors) {
  EXPECT_DOUBLE_EQ(cosine(stats_of({1, 0}, {1, 1})), std::sqrt(0.5));
  EXPECT_DOUBLE_EQ(cosine(stats_of({1, 2}, {-2, -4})), -1.0);
}

TEST(Cosine, HasDefinedEdges) {
  EXPECT_EQ(cosine(stats_of({0, 0}, {0, 0})), 1.0);
  EXPECT_EQ(cosine(stats_of({0, 0}, {1, 0})), 0.0);
  EXPECT_EQ(cosine(stats_of({1, 0}, {0, 0})), 0.0);
  EXPECT_EQ(cosine(stats_of({1, 1}, {1, kNaNFloat})), -1.0);
  EXPECT_EQ(cosine(ErrorStats{}), 1);
}

TEST(Mse, AveragesOverFinitePairs) {
  EXPECT_EQ(mse(stats_of({1, 2, kNaNFloat}, {2, 4, 0})), 2.5);
  EXPECT_EQ(mse(stats_of({1}, {kInf})), kInfinityDouble);
  EXPECT_EQ(mse(ErrorStats{}), 0);
}

TEST(MaxAbsError, IsInfiniteWhenAValueWasLost) {
  EXPECT_EQ(max_abs_error(stats_of({1, 2}, {1.5f, 2})), 0.5);
  EXPECT_EQ(max_abs_error(stats_of({1, 2}, {1.5f, kNaNFloat})), kInfinityDouble);
  EXPECT_EQ(max_abs_error(ErrorStats{}), 0);
}

TEST(RangeStats, SkipsWhatIsNotFinite) {
  RangeStats stats;
  accumulate_range(std::vector<float>{1, kNaNFloat, -3, kInf, -kInf, 2}, stats);
  EXPECT_EQ(stats.min, -3);
  EXPECT_EQ(stats.max, 2);
  EXPECT_EQ(stats.absmax(), 3);
  EXPECT_EQ(stats.count, 6);
  EXPECT_EQ(stats.nonfinite, 3);
}

TEST(RangeStats, IsEmptyUntilAFiniteValueIsSeen) {
  RangeStats stats;
  EXPECT_TRUE(stats.empty());
  EXPECT_EQ(stats.absmax(), 0);
  accumulate_range(std::vector<float>{kNaNFloat, kInf}, stats);
  EXPECT_TRUE(stats.empty());
  RangeStats other;
  accumulate_range(std::vector<float>{-7}, other);
  stats += other;
  EXPECT_FALSE(stats.empty());
  EXPECT_EQ(stats, (RangeStats{.min = -7, .max = -7, .count = 3, .nonfinite = 2}));
}

TEST(Metrics, EmptyTensorsAndTheSameInfinitiesAreEqual) {
  constexpr float kFar = std::numeric_limits<float>::infinity();
  const ErrorStats empty;
  ErrorStats same;
  accumulate_error(std::vector<float>{kFar, -kFar}, std::vector<float>{kFar, -kFar}, same);
  for (const ErrorStats& stats : {empty, same}) {
    EXPECT_TRUE(stats.comparable());
    EXPECT_EQ(sqnr_db(stats), std::numeric_limits<double>::infinity());
    EXPECT_EQ(cosine(stats), 1);
    EXPECT_EQ(mse(stats), 0);
    EXPECT_EQ(max_abs_error(stats), 0);
  }
  ErrorStats other;
  accumulate_error(std::vector<float>{kFar, -kFar}, std::vector<float>{kFar, kFar}, other);
  ErrorStats nan;
  accumulate_error(std::vector<float>{NAN}, std::vector<float>{NAN}, nan);
  for (const ErrorStats& stats : {other, nan}) {
    EXPECT_FALSE(stats.comparable());
    EXPECT_TRUE(std::isnan(sqnr_db(stats)));
    EXPECT_TRUE(std::isnan(mse(stats)));
  }
}

TEST(PowerOfTwo, IsFoundWhereNothingElseExplainsTheError) {
  const std::vector<float> ref{1, -2, 3, 0.5F}, eighth{0.125F, -0.25F, 0.3751F, 0.0625F},
      other{0.3F, -0.6F, 0.9F, 0.15F};
  const ErrorStats scaled = stats_of(ref, eighth);
  EXPECT_LT(sqnr_db(scaled), 1.2) << "as it is stored";
  ASSERT_EQ(power_of_two_in(scaled), 0.125);
  EXPECT_NEAR(sqnr_db(without_factor(scaled, 0.125)), 10 * std::log10(14.25 / 6.4e-7), 0.1);
  EXPECT_EQ(power_of_two_in(stats_of(ref, other)), std::nullopt) << "0.3 is no power of two";
  EXPECT_EQ(power_of_two_in(stats_of(ref, ref)), std::nullopt);
}

}  // namespace
}  // namespace vernier::test
