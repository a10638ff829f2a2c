#include "comparator/statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "tensors.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using namespace testing;

TEST(StatsOf, GivesNumpysFigures) {
  const ValueStats stats = stats_of(floats({2, 3}, {1, -2, 3, 4, -2, 10}));
  EXPECT_EQ(stats.count, 6);
  EXPECT_DOUBLE_EQ(stats.mean, 14.0 / 6);
  EXPECT_DOUBLE_EQ(stats.variance, 134.0 / 6 - 14.0 / 6 * 14 / 6);
  EXPECT_DOUBLE_EQ(stats.standard_deviation, std::sqrt(stats.variance));
  EXPECT_DOUBLE_EQ(stats.median, 2);
  EXPECT_DOUBLE_EQ(stats.average_magnitude, 22.0 / 6);
  EXPECT_EQ(stats.min, -2);
  EXPECT_EQ(stats.min_at, 1);  // the first of two
  EXPECT_EQ(stats.max, 10);
  EXPECT_EQ(stats.max_at, 5);
  EXPECT_DOUBLE_EQ(stats.p90, 7);  // halfway from 4 to 10
  EXPECT_DOUBLE_EQ(stats.p95, 8.5);
  EXPECT_DOUBLE_EQ(stats.p99, 9.7);
}

TEST(StatsOf, AnEmptyTensorHasZeros) {
  const ValueStats stats = stats_of(floats({0, 3}, {}));
  EXPECT_EQ(stats.count, 0);
  EXPECT_EQ(stats.mean, 0);
  EXPECT_EQ(stats.p99, 0);
}

TEST(StatsOf, AScalarIsItsOwnEverything) {
  const ValueStats stats = stats_of(floats(Shape{}, {-3}));
  EXPECT_EQ(stats.count, 1);
  EXPECT_EQ(stats.median, -3);
  EXPECT_EQ(stats.variance, 0);
  EXPECT_EQ(stats.p99, -3);
  EXPECT_EQ(stats.average_magnitude, 3);
}

TEST(StatsOf, CountsWhatIsNotFiniteAndLeavesItOut) {
  const ValueStats stats = stats_of(floats({kNan, 1, kInf, 5, -kInf, kNan, 3}));
  EXPECT_EQ(stats.count, 7);
  EXPECT_EQ(stats.nan, 2);
  EXPECT_EQ(stats.positive_infinite, 1);
  EXPECT_EQ(stats.negative_infinite, 1);
  EXPECT_EQ(stats.mean, 3);
  EXPECT_EQ(stats.median, 3);
  EXPECT_EQ(stats.min_at, 1);
  EXPECT_EQ(stats.max, 5);
  EXPECT_EQ(stats.max_at, 3);
}

TEST(StatsOf, WithoutFiniteValuesEverythingIsNan) {
  const ValueStats stats = stats_of(floats({kNan, kInf}));
  EXPECT_TRUE(std::isnan(stats.mean));
  EXPECT_TRUE(std::isnan(stats.p90));
  EXPECT_EQ(stats.nan, 1);
}

TEST(StatsOf, ReadsEveryType) {
  EXPECT_EQ(stats_of(bools({1, 0, 0, 1})).mean, 0.5);
  EXPECT_EQ(stats_of(int64s({-5, 9})).min, -5);
  EXPECT_EQ(stats_of(stored<std::uint8_t>(Dtype::UInt8, {2}, {255, 1})).max, 255);
  EXPECT_EQ(stats_of(stored<std::int8_t>(Dtype::Int8, {2}, {-128, 1})).min, -128);
  EXPECT_EQ(stats_of(stored<std::uint8_t>(Dtype::Int4, {3}, {0x7F, 0x08})).min, -8);   // -1, 7, -8
  EXPECT_EQ(stats_of(stored<std::uint8_t>(Dtype::UInt4, {3}, {0x7F, 0x08})).max, 15);  // 15, 7, 8
  EXPECT_EQ(stats_of(doubles({1e300, 3e300})).mean, 2e300);
  const ValueStats half = stats_of(float16s({0x3C00, 0xC000, 0x0001, 0x7C00, 0x7E00}));
  EXPECT_EQ(half.max, 1);
  EXPECT_EQ(half.min, -2);
  EXPECT_EQ(half.median, 0x1p-24);
  EXPECT_EQ(half.positive_infinite, 1);
  EXPECT_EQ(half.nan, 1);
  EXPECT_EQ(stats_of(stored<std::uint16_t>(Dtype::BFloat16, {1}, {0x4049})).max, 3.140625);
  // Largest, one, smallest subnormal, NaN.
  const ValueStats e4m3 = stats_of(stored<std::uint8_t>(Dtype::Float8E4M3FN, {4}, {0x7E, 0x38, 0x81, 0x7F}));
  EXPECT_EQ(e4m3.max, 448);
  EXPECT_EQ(e4m3.median, 1);
  EXPECT_EQ(e4m3.min, -0x1p-9);
  EXPECT_EQ(e4m3.nan, 1);
  EXPECT_EQ(stats_of(stored<std::uint8_t>(Dtype::Float8E5M2, {2}, {0x7B, 0xFC})).max, 57344);
}

TEST(StatsOf, RefusesStrings) { EXPECT_THROW(stats_of(Tensor(Dtype::String, {2})), Error); }

// Reference: sorting, as NumPy's definitions say.
double quantile(std::vector<double> sorted, double q) {
  const double place = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (place - std::floor(place));
}

void expect_as_sorted(const Tensor& tensor, const std::vector<double>& values) {
  std::vector<double> sorted;
  for (const double value : values) {
    if (std::isfinite(value)) sorted.push_back(value);
  }
  std::sort(sorted.begin(), sorted.end());
  const Summary summary = summary_of(tensor);
  const ValueStats& stats = summary.stats;
  for (const auto& [got, q] : {std::pair{stats.median, 0.5}, {stats.p90, 0.9}, {stats.p95, 0.95}, {stats.p99, 0.99}}) {
    EXPECT_NEAR(got, quantile(sorted, q), 1e-12 * (1 + std::abs(got))) << q;
  }
  EXPECT_EQ(stats.min, sorted.front());
  EXPECT_EQ(stats.max, sorted.back());
  const auto first = [&](double value) { return std::find(values.begin(), values.end(), value) - values.begin(); };
  EXPECT_EQ(stats.min_at, first(sorted.front()));
  EXPECT_EQ(stats.max_at, first(sorted.back()));
  double sum = 0;
  double squares = 0;
  for (const double value : sorted) sum += value;
  const double mean = sum / static_cast<double>(sorted.size());
  for (const double value : sorted) squares += (value - mean) * (value - mean);
  EXPECT_NEAR(stats.mean, mean, 1e-9 * (1 + std::abs(mean)));
  EXPECT_NEAR(stats.variance, squares / static_cast<double>(sorted.size()), 1e-9 * stats.variance);

  const Histogram& histogram = *summary.histogram;
  std::vector<std::int64_t> bins(10, 0);
  for (const double value : sorted) {
    std::size_t bin = 0;
    while (bin < 9 && value >= histogram.low + (histogram.high - histogram.low) * static_cast<double>(bin + 1) / 10) {
      ++bin;
    }
    ++bins[bin];
  }
  EXPECT_EQ(histogram.bins, bins);
}

// Few numbers are sorted, many are counted by digits: both ways are held against the same definition.
class ManyOrFew : public ::testing::TestWithParam<std::size_t> {};

TEST_P(ManyOrFew, NormalFloats) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.5F, 2);
  std::vector<float> values(GetParam());
  for (float& value : values) value = normal(random);
  expect_as_sorted(floats(values), {values.begin(), values.end()});
}

TEST_P(ManyOrFew, FloatsOfAllMagnitudesWithSomeNotFinite) {
  std::mt19937 random(2);
  std::vector<float> values(GetParam());
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()) & 0xBFFFFFFFU);
  values[3] = kNan;
  values[4] = kInf;
  values[values.size() - 1] = -kInf;
  values[7] = -0.0F;
  values[8] = 0.0F;
  expect_as_sorted(floats(values), {values.begin(), values.end()});
}

TEST_P(ManyOrFew, ManyEqualNumbers) {
  std::vector<float> values(GetParam(), 0.25F);
  values[5] = -0.0F;
  values[6] = 1;
  expect_as_sorted(floats(values), {values.begin(), values.end()});
}

TEST_P(ManyOrFew, Doubles) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal(1e6, 1e-3);
  std::vector<double> values(GetParam());
  for (double& value : values) value = normal(random);
  values[9] = std::numeric_limits<double>::quiet_NaN();
  expect_as_sorted(doubles(values), values);
}

TEST_P(ManyOrFew, WholeNumbers) {
  std::mt19937 random(4);
  std::vector<std::int64_t> values(GetParam());
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 1000) - 300;
  expect_as_sorted(int64s(values), {values.begin(), values.end()});
}

INSTANTIATE_TEST_SUITE_P(Sizes, ManyOrFew, ::testing::Values(101, 4096, 4097, 50001));

TEST(SummaryOf, PutsASingleValueInTheMiddle) {
  const Histogram histogram = summary_of(floats({3, 3, 3})).histogram.value();
  EXPECT_EQ(histogram.low, 2.5);
  EXPECT_EQ(histogram.high, 3.5);
  EXPECT_EQ(histogram.bins, (std::vector<std::int64_t>{0, 0, 0, 0, 0, 3, 0, 0, 0, 0}));
}

TEST(SummaryOf, ABinHoldsItsLowerEdgeAndTheLastOneBoth) {
  const Histogram histogram = summary_of(int64s({0, 1, 1, 9, 10})).histogram.value();
  EXPECT_EQ(histogram.bins, (std::vector<std::int64_t>{1, 2, 0, 0, 0, 0, 0, 0, 0, 2}));
}

TEST(SummaryOf, NothingFiniteHasNoHistogram) { EXPECT_FALSE(summary_of(floats({kNan})).histogram.has_value()); }

TEST(SummariesOf, ShareTheRange) {
  const auto [one, other] = summaries_of(floats({0, 1}), floats({10, kInf}), /*histograms=*/true);
  EXPECT_EQ(one.histogram->low, 0);
  EXPECT_EQ(one.histogram->high, 10);
  EXPECT_EQ(one.histogram->bins.front(), 1);
  EXPECT_EQ(one.histogram->bins[1], 1);
  EXPECT_EQ(other.histogram->bins.back(), 1);
  EXPECT_FALSE(summaries_of(floats({0, 1}), floats({10, kInf}), false).first.histogram);
}

}  // namespace
}  // namespace vernier
