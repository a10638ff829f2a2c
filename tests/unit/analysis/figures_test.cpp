#include "analysis/figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <functional>
#include <map>
#include <numeric>
#include <random>
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

TEST(DecidingFigure, BelievesAGainOnSomeSamplesAndNotOnOne) {
  const auto cured = scores(stats_with(spread_out));
  const Requirement requirement = sure_of_db(18);
  const double alone = deciding_figure(with_scores(), cured, requirement).value;
  const auto value = [&](std::size_t broken) {
    const LowStats low = low_stats(
        with_scores(),
        scores(stats_with([&](std::size_t i) { return i % 5 == 3 && i < 5 * broken ? 1e6 : spread_out(i); })));
    return deciding_figure(with_scores(), cured, requirement, &low).value;
  };
  EXPECT_LT(value(1), alone - 20) << "new samples may have another layer that breaks one";
  EXPECT_GT(value(8), alone - 6);
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

/// Noise of each of six layers on 30 samples of equal signal.
using LayerNoise = std::vector<std::array<double, 6>>;

LayerNoise drawn(std::mt19937_64& random, double spread, double broken_share) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> share;
  LayerNoise samples(30);
  for (auto& layers : samples) {
    for (double& noise : layers) {
      noise = std::exp(spread * normal(random)) * (share(random) < broken_share ? 50 : 1);
    }
  }
  return samples;
}

/// `kept`: a bit for each layer.
OutputStats stats_of_rest(const LayerNoise& samples, unsigned kept) {
  OutputStats stats;
  for (const auto& layers : samples) {
    double noise = 0;
    for (std::size_t layer = 0; layer < layers.size(); ++layer) noise += (kept >> layer & 1U) != 0 ? 0 : layers[layer];
    stats.each.push_back({1000, noise, 0, 0, stats.samples++});
    stats.pooled.ref_energy += 1000;
    stats.pooled.error_energy += noise;
    stats.pooled.count += 10;
  }
  return stats;
}

/// Of 200 searches for the fewest layers that gain 3 dB: how many of a hundred gain as much on as many new samples.
double met_on_new_samples(double spread, double broken_share) {
  std::mt19937_64 random(3);
  std::vector<unsigned> sets(63);
  std::iota(sets.begin(), sets.end(), 0U);
  std::ranges::stable_sort(sets, {}, [](unsigned set) { return std::popcount(set); });
  constexpr int kSearches = 200;
  int met = 0;
  for (int search = 0; search < kSearches; ++search) {
    const LayerNoise given = drawn(random, spread, broken_share), others = drawn(random, spread, broken_share);
    const double limit = sqnr_db(stats_of_rest(given, 0).pooled) + 3;
    const LowStats low = low_stats(with_scores(), scores(stats_of_rest(given, 0)));
    const auto passes = [&](unsigned set) {
      const auto stats = scores(stats_of_rest(given, set));
      return deciding_figure(with_scores(), stats, sure_of_db(limit), set == 0 ? nullptr : &low).damage <= 1;
    };
    const auto chosen = std::ranges::find_if(sets, passes);  // the end: all layers are kept
    met += chosen == sets.end() || sqnr_db(stats_of_rest(others, *chosen).pooled) >= limit ? 1 : 0;
  }
  return 100.0 * met / kSearches;
}

// A search tries sets until one meets the limit on these very samples: where each layer breaks other samples, it keeps
// those whose samples are there.
TEST(DecidingFigure, OfTheSetThatASearchChoseHoldsOnNewSamples) {
  EXPECT_GE(met_on_new_samples(0.8, 0), 88);
  EXPECT_GE(met_on_new_samples(1.3, 0), 88);
  EXPECT_GE(met_on_new_samples(0.4, 0.02), 82);
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
