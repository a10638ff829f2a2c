#include "tasks/ranks.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace vernier {
namespace {

TEST(PlaceOf, CountsTheClassesBefore) {
  const std::vector<float> scores{0.1F, 0.7F, 0.2F};
  EXPECT_EQ(place_of(scores, 1), 0U);
  EXPECT_EQ(place_of(scores, 2), 1U);
  EXPECT_EQ(place_of(scores, 0), 2U);
}

TEST(PlaceOf, TiesGoToTheLowerIndex) {
  const std::vector<float> scores{5, 5, 5};
  EXPECT_EQ(place_of(scores, 0), 0U);
  EXPECT_EQ(place_of(scores, 1), 1U);
  EXPECT_EQ(place_of(scores, 2), 2U);
}

TEST(PlaceOf, NanStandsBeforeOthersAndLastAsTheLabel) {
  const std::vector<float> scores{1, std::numeric_limits<float>::quiet_NaN(), 2};
  EXPECT_EQ(place_of(scores, 2), 1U);
  EXPECT_EQ(place_of(scores, 0), 2U);
  EXPECT_EQ(place_of(scores, 1), 3U);
}

TEST(PlaceOf, InfinitiesAreScores) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  const std::vector<float> scores{-kInfinite, kInfinite, 0};
  EXPECT_EQ(place_of(scores, 1), 0U);
  EXPECT_EQ(place_of(scores, 0), 2U);
}

}  // namespace
}  // namespace vernier
