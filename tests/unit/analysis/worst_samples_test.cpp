#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "analysis/figures.h"
#include "analysis/requirement.h"
#include "vernier/report/figures.h"

namespace vernier {
namespace {

TEST(WorstSamples, ComeLowestFirstUnderTheirOwnPlaces) {
  std::vector<SampleSums> samples;
  for (std::size_t i = 0; i < 12; ++i) samples.push_back({100, 1.0 + static_cast<double>(i % 6), 1, 1, 20 + i});
  samples[7].rows_agreed = 0;
  samples[8] = {100, 0, 1, 1, 28};  // equal
  const std::vector<SampleFigure> worst = worst_samples(samples, /*classes=*/true);
  ASSERT_EQ(worst.size(), 8U);
  EXPECT_EQ(worst[0].sample, 25U);
  EXPECT_EQ(worst[1].sample, 31U);
  EXPECT_NEAR(worst[0].sqnr_db, 10 * std::log10(100.0 / 6), 1e-12);
  for (std::size_t i = 1; i < worst.size(); ++i) EXPECT_GE(worst[i].sqnr_db, worst[i - 1].sqnr_db);
  for (const SampleFigure& figure : worst) EXPECT_EQ(figure.top1_agreement, figure.sample == 27 ? 0.0 : 1.0);
}

TEST(WorstSamples, AreNoneOfOneSampleAndHaveNoClassesWhereThereAreNone) {
  EXPECT_TRUE(worst_samples(std::vector<SampleSums>(1, {100, 1, 1, 1}), true).empty());
  const std::vector<SampleFigure> exact = worst_samples(std::vector<SampleSums>(3, {100, 0, 1, 1}), false);
  ASSERT_EQ(exact.size(), 3U);
  EXPECT_TRUE(std::isinf(exact[0].sqnr_db));
  EXPECT_FALSE(exact[0].top1_agreement);
}

}  // namespace
}  // namespace vernier
