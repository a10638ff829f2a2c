#include "analysis/figures.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analysis/requirement.h"
#include "analysis/sampling_interval.h"
#include "analysis/subject.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

constexpr std::size_t kSamples = 40;

/// Samples of equal signal with that noise each.
OutputStats stats_with(const std::function<double(std::size_t)>& noise) {
  OutputStats stats;
  for (std::size_t i = 0; i < kSamples; ++i) {
    stats.each.push_back({100, noise(i), 0, 0, i});
    stats.pooled.ref_energy += 100;
    stats.pooled.error_energy += noise(i);
    stats.pooled.count += 10;
    ++stats.samples;
  }
  return stats;
}

std::map<std::string, OutputStats> scores(OutputStats stats) { return {{"scores", std::move(stats)}}; }

Subject with_scores() {
  Subject subject;
  subject.judged = {"scores"};
  return subject;
}

Requirement sure_of_db(double db) {
  Requirement requirement;
  requirement.limits.push_back({db, ""});
  requirement.confidence = 0.9;
  return requirement;
}

double spread_out(std::size_t i) { return 1 + 0.5 * std::sin(static_cast<double>(i)); }

TEST(DecidingFigure, IsWhatHoldsOnNewSamples) {
  const OutputStats stats = stats_with(spread_out);
  const DecidingFigure decides = deciding_figure(with_scores(), scores(stats), sure_of_db(20));
  EXPECT_EQ(decides.output, "scores");
  EXPECT_DOUBLE_EQ(decides.value, SqnrSpread::of(stats.each).value().above(0.9).value());
  EXPECT_LT(decides.value, sqnr_db(stats.pooled));
  EXPECT_NEAR(decides.damage, std::pow(10, (20 - decides.value) / 10), 1e-12);

  Requirement plain = sure_of_db(20);
  plain.confidence = 0.5;
  EXPECT_DOUBLE_EQ(deciding_figure(with_scores(), scores(stats), plain).value, sqnr_db(stats.pooled));
}

// The worst sample is cured and the others are as they were, some of them bad: new samples have a worst one again.
TEST(DecidingFigure, DoesNotBelieveAGainOnOneSample) {
  const auto noise = [](std::size_t i) { return i < 3 ? 30 : spread_out(i); };
  const LowStats low =
      low_stats(with_scores(), scores(stats_with([&](std::size_t i) { return i == 9 ? 60 : noise(i); })));
  const auto lucky = scores(stats_with(noise));
  const Requirement requirement = sure_of_db(15);
  const double alone = deciding_figure(with_scores(), lucky, requirement).value;
  EXPECT_LT(deciding_figure(with_scores(), lucky, requirement, &low).value, alone - 1);
}

// Layers that break few samples, and do so surely: without them all samples agree.
TEST(DecidingFigure, BelievesSamplesThatAgree) {
  const LowStats low =
      low_stats(with_scores(), scores(stats_with([](std::size_t i) { return i == 3 ? 1e6 : spread_out(i); })));
  const auto cured = scores(stats_with(spread_out));
  const Requirement requirement = sure_of_db(18);
  EXPECT_NEAR(deciding_figure(with_scores(), cured, requirement, &low).value,
              deciding_figure(with_scores(), cured, requirement).value, 0.5);
}

TEST(DecidingFigure, BelievesAGainOnAllSamples) {
  const auto noise = [](std::size_t i) { return i == 3 ? 60 : spread_out(i); };
  const LowStats low = low_stats(with_scores(), scores(stats_with(noise)));
  const auto kept = scores(stats_with([&](std::size_t i) { return noise(i) / 10; }));
  const Requirement requirement = sure_of_db(18);
  EXPECT_NEAR(deciding_figure(with_scores(), kept, requirement, &low).value,
              deciding_figure(with_scores(), scores(stats_with(noise)), requirement).value + 10, 1e-9);
}

TEST(DecidingFigure, OfEverythingLowIsItsOwn) {
  const LowStats low = low_stats(with_scores(), scores(stats_with(spread_out)));
  const Requirement requirement = sure_of_db(18);
  EXPECT_DOUBLE_EQ(deciding_figure(with_scores(), scores(stats_with(spread_out)), requirement, &low).value,
                   deciding_figure(with_scores(), scores(stats_with(spread_out)), requirement).value);
}

TEST(HeavyTail, NamesTheFewestSamplesThatHoldHalfTheError) {
  const auto tail = heavy_tail(stats_with([](std::size_t i) { return i < 2 ? 50 : 1; }).each);
  EXPECT_EQ(tail.value().samples, 2U);
  EXPECT_NEAR(tail->share, 100.0 / 138, 1e-12);
  EXPECT_FALSE(heavy_tail(stats_with(spread_out).each)) << "no few samples do";
  EXPECT_FALSE(heavy_tail(stats_with([](std::size_t) { return 0; }).each)) << "there is no error";
  EXPECT_FALSE(heavy_tail(std::vector<SampleSums>(9, {100, 1, 0, 0}))) << "too few samples to say";
}

}  // namespace
}  // namespace vernier
