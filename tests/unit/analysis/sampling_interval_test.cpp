#include "analysis/sampling_interval.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <vector>

#include "analysis/figures.h"
#include "analysis/requirement.h"
#include "vernier/report/figures.h"

namespace vernier {
namespace {

std::vector<SampleSums> alike(std::size_t count) { return std::vector<SampleSums>(count, {100, 1, 10, 9}); }

std::optional<SamplingInterval> sqnr_interval(const std::vector<SampleSums>& samples) {
  const std::optional<SqnrSpread> spread = SqnrSpread::of(samples);
  return spread ? std::optional(spread->interval()) : std::nullopt;
}

TEST(SamplingInterval, OfSamplesThatDoNotDifferHasNoWidth) {
  const std::optional<SamplingInterval> sqnr = sqnr_interval(alike(8)), agreement = agreement_interval(alike(8));
  EXPECT_NEAR(sqnr.value().low, 20, 1e-9);
  EXPECT_NEAR(sqnr->high, 20, 1e-9);
  EXPECT_NEAR(agreement.value().low, 0.9, 1e-12);
  EXPECT_NEAR(agreement->high, 0.9, 1e-12);
}

TEST(SamplingInterval, IsNotGivenWhereItWouldMeanNothing) {
  EXPECT_FALSE(sqnr_interval(alike(7)));
  std::vector<SampleSums> exact(20, {100, 0, 0, 0});
  EXPECT_FALSE(sqnr_interval(exact)) << "no ratio is finite";
  EXPECT_FALSE(agreement_interval(exact)) << "no rows";
}

TEST(SamplingInterval, IsTheSameEachTime) {
  std::vector<SampleSums> samples = alike(20);
  samples[3].error_energy = 30;
  EXPECT_EQ(sqnr_interval(samples).value().low, sqnr_interval(samples).value().low);
  EXPECT_LT(sqnr_interval(samples)->low, sqnr_interval(samples)->high - 1);
}

/// How many of 300 intervals over `count` samples hold the truth, in percent. Noise is log-normal: with 1.5 one sample
/// in a hundred has a third of it.
double held(std::size_t count, double spread) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, spread);
  const double truth = 10 * std::log10(100 / std::exp(spread * spread / 2));  // the mean of such noise
  int held = 0;
  constexpr int kSets = 300;
  for (int set = 0; set < kSets; ++set) {
    std::vector<SampleSums> samples;
    for (std::size_t i = 0; i < count; ++i) samples.push_back({100, std::exp(normal(random)), 0, 0});
    const SamplingInterval interval = sqnr_interval(samples).value();
    held += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  return 100.0 * held / kSets;
}

TEST(SamplingInterval, HoldsTheTruthAboutAsOftenAsItSays) {
  for (const std::size_t count : {16U, 40U, 100U}) {
    EXPECT_GE(held(count, 0.7), 90) << count;
    EXPECT_LE(held(count, 0.7), 99) << count;
  }
}

TEST(SamplingInterval, HoldsTheTruthOfHeavyTailsAsOften) {
  for (const std::size_t count : {16U, 40U, 100U}) {
    EXPECT_GE(held(count, 1.5), 90) << count;  // percentiles: 75 to 86, the bootstrap-t 86
    EXPECT_GE(held(count, 2), 85) << count;    // the bootstrap-t 78
  }
}

TEST(SamplingInterval, SamplesWithoutNoiseAreNoTail) {
  std::vector<SampleSums> samples = alike(20);
  for (std::size_t i = 0; i < 9; ++i) samples[i].error_energy = 0;
  const SamplingInterval interval = sqnr_interval(samples).value();
  EXPECT_GE(interval.low, 20) << "a logarithm of nothing";
  for (std::size_t i = 9; i < 12; ++i) samples[i].error_energy = 0;
  EXPECT_TRUE(std::isfinite(sqnr_interval(samples).value().low)) << "half of them are exact";
}

TEST(SamplingInterval, ReachesFurtherToWhereTheTailIs) {
  std::vector<SampleSums> samples = alike(20);
  samples[3].error_energy = 30;
  const SamplingInterval interval = sqnr_interval(samples).value();
  const double pooled = 10 * std::log10(2000.0 / (19 + 30));
  EXPECT_GT(pooled - interval.low, interval.high - pooled);
}

// Wilson's interval, as statsmodels' proportion_confint(method="wilson") gives it.
TEST(SamplingInterval, OfAShareIsWilsons) {
  EXPECT_NEAR(share_interval(0.9, 100).low, 0.82563, 1e-4);
  EXPECT_NEAR(share_interval(0.9, 100).high, 0.94477, 1e-4);
  EXPECT_NEAR(share_interval(1, 33).low, 0.89573, 1e-4);
  EXPECT_EQ(share_interval(1, 33).high, 1);
  EXPECT_EQ(share_interval(0, 33).low, 0);
}

TEST(SamplingInterval, OfSamplesThatAllAgreeIsNoPoint) {
  std::vector<SampleSums> samples(33);
  for (SampleSums& sample : samples) sample.rows = sample.rows_agreed = 40;
  const SamplingInterval interval = agreement_interval(samples).value();
  EXPECT_NEAR(interval.low, 0.89573, 1e-4);
  EXPECT_EQ(interval.high, 1);
}

TEST(SamplingInterval, WhatIsExceededOnNewSamplesHoldsAsOftenAsItSays) {
  std::mt19937_64 random(11);
  std::normal_distribution<double> normal(0, 0.7);
  const double truth = 10 * std::log10(100 / std::exp(0.7 * 0.7 / 2));
  int held = 0;
  constexpr int kSets = 300;
  for (int set = 0; set < kSets; ++set) {
    std::vector<SampleSums> samples;
    for (std::size_t i = 0; i < 40; ++i) samples.push_back({100, std::exp(normal(random)), 0, 0});
    held += SqnrSpread::of(samples).value().above(0.9).value() <= truth ? 1 : 0;
  }
  EXPECT_GE(held, kSets * 85 / 100);
  EXPECT_LE(held, kSets * 95 / 100);
}

TEST(SamplingInterval, OneBadSampleIsTakenForSixOfThem) {
  std::vector<SampleSums> samples = alike(16);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i].error_energy *= i == 3 ? 1000 : 1 + 0.1 * double(i % 3);
  double signal = 0, noise = 0;
  for (const SampleSums& sample : samples) signal += sample.ref_energy, noise += sample.error_energy;
  const double db = 10 * std::log10(signal / noise);
  const double above = SqnrSpread::of(samples).value().above(0.9).value();
  const double log_normal = SqnrSpread::of(samples).value().interval().low;
  EXPECT_LT(above, db - 2);
  EXPECT_GE(above, std::min(db - 7.46, log_normal) - 0.01);  // 10 log10(5.57); it was 30 dB below and more
}

TEST(SamplingInterval, EndsWhereAnOutputWouldBeTheOppositeOfItsReference) {
  std::vector<SampleSums> samples;  // as behind a Softmax, whose errors reach from 1e-1 down to what rounding leaves
  for (int i = 0; i < 30; ++i) samples.push_back({1, std::pow(10.0, -1 - i), 0, 0});
  const SamplingInterval interval = SqnrSpread::of(samples).value().interval();
  EXPECT_NEAR(interval.low, -6.02, 0.01);  // it was below -200 dB
  EXPECT_GT(interval.high, 10 * std::log10(30 / 0.111));
}

TEST(SamplingInterval, AFewSamplesClaimNothingOfOthers) {
  EXPECT_FALSE(SqnrSpread::of(alike(9)).value().above(0.9));
  EXPECT_TRUE(SqnrSpread::of(alike(10)).value().above(0.9));
  EXPECT_FALSE(agreement_above(alike(9), 0.9));
}

TEST(SamplingInterval, AShareIsExceededByTheLowerEndOfOneSide) {
  // Of n samples that are all right, Wilson's lower end is n / (n + z^2); z = 1.2816 for 90 %.
  EXPECT_NEAR(share_above(1, 30, 0.9), 30 / (30 + 1.2816 * 1.2816), 1e-4);
  EXPECT_TRUE(can_show(0.94, 30, 0.9));
  EXPECT_FALSE(can_show(0.99, 30, 0.9)) << "no result of 30 samples could";
}

}  // namespace
}  // namespace vernier
