#include "jobs/common/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <optional>
#include <vector>

namespace vernier {
namespace {

using Indices = std::vector<std::size_t>;

TEST(Split, EverySampleIsInOnePart) {
  for (const Split split : {Split::Calibration, Split::Judgement, Split::CalibrationAndJudgement}) {
    const SampleParts parts = parts_of(100, split).value();
    Indices all;
    for (const Indices& part : {parts.calibration, parts.search, parts.judgement}) {
      EXPECT_TRUE(std::ranges::is_sorted(part)) << "files are read in their order";
      all.insert(all.end(), part.begin(), part.end());
    }
    std::ranges::sort(all);
    Indices wanted(100);
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    EXPECT_EQ(all, wanted);
    EXPECT_EQ(parts.calibration.size(), split == Split::Judgement ? 0U : 33U);
    EXPECT_EQ(parts.judgement.size(), split == Split::Calibration ? 0U : 33U);
  }
}

TEST(Split, IsTheSameEveryTimeAndNoPartIsABlock) {
  const SampleParts parts = parts_of(60, Split::CalibrationAndJudgement).value();
  EXPECT_EQ(parts.judgement, parts_of(60, Split::CalibrationAndJudgement).value().judgement);
  for (const Indices& part : {parts.calibration, parts.search, parts.judgement}) {
    EXPECT_LT(part.front(), 20U);
    EXPECT_GT(part.back(), 40U);
  }
}

TEST(Split, FewSamplesStayTogether) {
  EXPECT_EQ(parts_of(59, Split::CalibrationAndJudgement), std::nullopt);
  EXPECT_EQ(parts_of(10'000, Split::None), std::nullopt);
}

TEST(Split, CalibrationTakesNoMoreThanItGainsFrom) {
  const SampleParts parts = parts_of(9'000, Split::CalibrationAndJudgement).value();
  EXPECT_EQ(parts.calibration.size(), 512U);
  EXPECT_EQ(parts.judgement.size(), 3'000U);
  EXPECT_EQ(parts.search.size(), 5'488U);
}

}  // namespace
}  // namespace vernier
