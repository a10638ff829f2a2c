#include "analysis/requirement.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr Metric kMetrics[] = {Metric::MinSqnrDb, Metric::MaxAbsError, Metric::MaxMse, Metric::MinCosine,
                               Metric::MinTop1Agreement};

Tensor row(const std::vector<float>& values) {
  return Tensor::of({1, static_cast<std::int64_t>(values.size())}, values);
}

OutputStats stats_of(const std::vector<float>& ref, const std::vector<float>& got) {
  OutputStats stats;
  stats.add_sample(0, row(ref), row(got));
  return stats;
}

TEST(Damage, IsOneExactlyAtTheLimit) {
  // ref 3 4, got 3 3.5: noise 0.25 of energy 25 is 20 dB, mean square 0.125, largest error 0.5.
  const OutputStats stats = stats_of({3, 4}, {3, 3.5F});
  EXPECT_DOUBLE_EQ(metric_value(Metric::MinSqnrDb, stats), 20);
  EXPECT_EQ(damage_of(Metric::MinSqnrDb, metric_value(Metric::MinSqnrDb, stats), stats), 1);
  EXPECT_EQ(damage_of(Metric::MaxAbsError, 0.5, stats), 1);
  EXPECT_EQ(damage_of(Metric::MaxMse, 0.125, stats), 1);
  EXPECT_EQ(damage_of(Metric::MinCosine, metric_value(Metric::MinCosine, stats), stats), 1);
}

TEST(Damage, GrowsWithNoisePower) {
  const OutputStats stats = stats_of({3, 4}, {3, 3.5F});
  EXPECT_DOUBLE_EQ(damage_of(Metric::MinSqnrDb, 30, stats), 10);
  EXPECT_DOUBLE_EQ(damage_of(Metric::MinSqnrDb, 10, stats), 0.1);
  EXPECT_DOUBLE_EQ(damage_of(Metric::MaxAbsError, 0.25, stats), 4) << "a power, so the error enters squared";
  EXPECT_DOUBLE_EQ(damage_of(Metric::MaxMse, 0.25, stats), 0.5);
}

TEST(Damage, IsZeroWhenEqualEvenIfNothingIsAllowed) {
  // Values whose energy is no perfect square: the cosine of equal vectors may come out as 1 - 1e-16.
  for (const std::vector<float>& values :
       {std::vector<float>{0.1F, 0.7F, 0.3F}, {3, 4}, {0, 0}, {0.3F, -1.7F, 1e-20F, 12.3F, 0.1F}}) {
    const OutputStats stats = stats_of(values, values);
    EXPECT_EQ(damage_of(Metric::MinSqnrDb, 300, stats), 0);
    EXPECT_EQ(damage_of(Metric::MaxAbsError, 0, stats), 0);
    EXPECT_EQ(damage_of(Metric::MaxMse, 0, stats), 0);
    EXPECT_EQ(damage_of(Metric::MinCosine, 1, stats), 0);
    EXPECT_EQ(damage_of(Metric::MinTop1Agreement, 1, stats), 0);
  }
}

TEST(Damage, IsInfiniteWhenNothingIsAllowedAndSomethingIsWrong) {
  const OutputStats stats = stats_of({3, 4}, {4, 3});
  EXPECT_EQ(damage_of(Metric::MaxAbsError, 0, stats), kInfinity);
  EXPECT_EQ(damage_of(Metric::MaxMse, 0, stats), kInfinity);
  EXPECT_EQ(damage_of(Metric::MinCosine, 1, stats), kInfinity);
  EXPECT_EQ(damage_of(Metric::MinTop1Agreement, 1, stats), kInfinity);
}

TEST(Damage, IsInfiniteWhenOnlyTheTestedSideOverflowed) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    const OutputStats stats = stats_of({3, 4}, {3, bad});
    for (const Metric metric : kMetrics) EXPECT_EQ(damage_of(metric, 0.5, stats), kInfinity) << word_of(metric);
  }
}

TEST(Damage, LeavesOutWhatTheReferenceOverflowedItself) {
  const float inf = std::numeric_limits<float>::infinity();
  const OutputStats stats = stats_of({3, 4, inf}, {3, 3.5F, inf});
  EXPECT_DOUBLE_EQ(damage_of(Metric::MinSqnrDb, 20, stats), 1);
  EXPECT_DOUBLE_EQ(damage_of(Metric::MaxMse, 0.125, stats), 1);
}

TEST(Damage, OfAReferenceOfZerosIsInfiniteOnlyWhenSomethingIsWrong) {
  EXPECT_EQ(damage_of(Metric::MinSqnrDb, 20, stats_of({0, 0}, {0, 0})), 0);
  EXPECT_EQ(damage_of(Metric::MinSqnrDb, 20, stats_of({0, 0}, {0, 1e-6F})), kInfinity);
}

TEST(Damage, OfTop1IsTheShareOfAllowedDisagreements) {
  OutputStats stats;
  for (std::size_t i = 0; i < 10; ++i) stats.add_sample(i, row({1, 2, 3}), i < 9 ? row({1, 2, 3}) : row({3, 2, 1}));
  EXPECT_DOUBLE_EQ(metric_value(Metric::MinTop1Agreement, stats), 0.9);
  EXPECT_EQ(damage_of(Metric::MinTop1Agreement, 0.9, stats), 1) << "exactly at the limit passes";
  EXPECT_NEAR(damage_of(Metric::MinTop1Agreement, 0.8, stats), 0.5, 1e-12);
}

TEST(OutputStats, PoolsEnergyAndRemembersTheWorstSample) {
  OutputStats stats;
  stats.add_sample(4, row({10, 0}), row({10, 1}));  // 20 dB
  stats.add_sample(2, row({1, 0}), row({1, 1}));    // 0 dB
  stats.add_sample(7, row({10, 0}), row({10, 0}));  // equal
  EXPECT_EQ(stats.samples, 3U);
  EXPECT_EQ(stats.worst_sample, 2U);
  EXPECT_DOUBLE_EQ(stats.worst_sqnr_db, 0);
  EXPECT_DOUBLE_EQ(metric_value(Metric::MinSqnrDb, stats), 10 * std::log10(201.0 / 2.0));
}

TEST(OutputStats, SampleWithoutFigureIsNeverTheWorst) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OutputStats stats;
  stats.add_sample(0, row({nan, nan}), row({1, 2}));  // nothing to compare with: no figure
  stats.add_sample(1, row({10, 0}), row({10, 1}));
  EXPECT_EQ(stats.worst_sample, 1U);
  EXPECT_DOUBLE_EQ(stats.worst_sqnr_db, 20);
}

TEST(OutputStats, CountsRowsAlongTheLastAxisLongerThanOne) {
  OutputStats stats;
  const std::vector<float> ref{1, 2, 3, 6, 5, 4};
  const std::vector<float> got{1, 3, 2, 6, 5, 4};
  stats.add_sample(0, Tensor::of({2, 3, 1, 1}, ref), Tensor::of({2, 3, 1, 1}, got));
  EXPECT_EQ(stats.rows, 2);
  EXPECT_EQ(stats.rows_agreed, 1);
  OutputStats single;
  single.add_sample(0, Tensor::of({1, 1}, std::vector<float>{1}), Tensor::of({1, 1}, std::vector<float>{2}));
  EXPECT_EQ(single.rows, 0) << "one value has no largest element";
}

TEST(OutputStats, RowsOfNanAgreeWithNoClass) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  OutputStats stats;
  stats.add_sample(0, row({3, 2, 1}), row({nan, nan, nan}));  // class 0 is where its first NaN is
  EXPECT_EQ(stats.rows_agreed, 0);
  stats.add_sample(1, row({nan, 2, 1}), row({nan, 2, 3}));
  EXPECT_EQ(stats.rows_agreed, 1) << "the float model has NaN there, too";
}

TEST(OutputStats, RefusesOtherShapes) {
  OutputStats stats;
  EXPECT_EQ(error_of([&] { stats.add_sample(0, row({1, 2}), row({1, 2, 3})); }).kind(), ErrorKind::Input);
}

/// Random outputs of ten samples: the prefixes of the tested run against the full one.
struct Prefixes {
  std::vector<OutputStats> prefixes;  // after 1, 2, ... samples
  OutputStats all_ref;                // the reference against itself: totals known beforehand
};

Prefixes run_of(std::uint32_t seed) {
  Prefixes run;
  OutputStats got;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const Tensor ref = bell({3, 4}, seed * 100 + i, 0.1F + static_cast<float>(i % 4));
    const Tensor noise = bell({3, 4}, seed * 100 + 50 + i, 0.01F * static_cast<float>(1 + (seed + i) % 7));
    Tensor low(Dtype::Float32, {3, 4});
    for (std::size_t k = 0; k < 12; ++k) low.mutable_floats()[k] = ref.floats()[k] + noise.floats()[k];
    run.all_ref.add_sample(i, ref, ref);
    got.add_sample(i, ref, low);
    run.prefixes.push_back(got);
  }
  return run;
}

TEST(SurelyFails, IsNeverSaidOfARunThatPassesInTheEnd) {
  std::size_t said = 0;
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const Prefixes run = run_of(seed);
    const OutputStats& end = run.prefixes.back();
    for (const Metric metric : kMetrics) {
      const double reached = metric_value(metric, end);
      // At, just within and just beyond what the whole run reaches.
      for (const double factor : {1.0, 1 + 1e-12, 1 - 1e-12, 1.02, 0.98, 0.5}) {
        const bool share = metric == Metric::MinCosine || metric == Metric::MinTop1Agreement;
        const double limit = share ? std::min(1.0, reached * factor) : reached * factor;
        const bool passes = damage_of(metric, limit, end) <= 1;
        for (const OutputStats& prefix : run.prefixes) {
          const bool sure = surely_fails(metric, limit, prefix, run.all_ref);
          said += sure ? 1 : 0;
          EXPECT_FALSE(sure && passes) << word_of(metric) << " seed " << seed << " factor " << factor;
        }
      }
    }
  }
  EXPECT_GT(said, 100U) << "the test must see both answers";
}

TEST(SurelyFails, StaysTrueOnceSaid) {
  for (std::uint32_t seed = 1; seed <= 40; ++seed) {
    const Prefixes run = run_of(seed);
    for (const Metric metric : kMetrics) {
      const double limit = metric_value(metric, run.prefixes.front());
      bool before = false;
      for (const OutputStats& prefix : run.prefixes) {
        const bool now = surely_fails(metric, limit, prefix, run.all_ref);
        EXPECT_FALSE(before && !now) << word_of(metric) << " seed " << seed;
        before = now;
      }
    }
  }
}

TEST(SurelyFails, IsSaidAsSoonAsTheAllowanceOfAllSamplesIsSpent) {
  OutputStats all;
  for (std::size_t i = 0; i < 4; ++i) all.add_sample(i, row({10, 0}), row({10, 0}));
  OutputStats so_far;
  so_far.add_sample(0, row({10, 0}), row({10, 2}));  // noise 4; 20 dB of energy 400 allow 4
  EXPECT_FALSE(surely_fails(Metric::MinSqnrDb, 20, so_far, all)) << "all others may be perfect";
  so_far.add_sample(1, row({10, 0}), row({10, 0.01F}));
  EXPECT_TRUE(surely_fails(Metric::MinSqnrDb, 20, so_far, all));
  EXPECT_FALSE(surely_fails(Metric::MaxMse, 0.51, so_far, all));
  EXPECT_TRUE(surely_fails(Metric::MaxMse, 0.49, so_far, all));
  EXPECT_FALSE(surely_fails(Metric::MaxAbsError, 2, so_far, all));
  EXPECT_TRUE(surely_fails(Metric::MaxAbsError, 1.9, so_far, all));
  EXPECT_FALSE(surely_fails(Metric::MinCosine, 0.999999, so_far, all)) << "later samples may raise it";
}

TEST(SurelyFails, IsSaidOfTop1WhenTooManyRowsDisagree) {
  OutputStats all;
  for (std::size_t i = 0; i < 10; ++i) all.add_sample(i, row({1, 2}), row({1, 2}));
  OutputStats so_far;
  so_far.add_sample(0, row({1, 2}), row({2, 1}));
  EXPECT_FALSE(surely_fails(Metric::MinTop1Agreement, 0.9, so_far, all)) << "one of ten is allowed";
  so_far.add_sample(1, row({1, 2}), row({2, 1}));
  EXPECT_TRUE(surely_fails(Metric::MinTop1Agreement, 0.9, so_far, all));
}

TEST(SurelyFails, IsSaidOfWhatIsNotFinite) {
  const OutputStats stats = stats_of({3, 4}, {3, std::numeric_limits<float>::infinity()});
  for (const Metric metric : kMetrics) EXPECT_TRUE(surely_fails(metric, 0.5, stats, stats)) << word_of(metric);
}

}  // namespace
}  // namespace vernier::testing
