#include "tasks/text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "vernier/error.h"

namespace vernier {
namespace {

using Targets = std::vector<std::int64_t>;

double perplexity_of(const std::vector<float>& scores, std::size_t words, const Targets& targets) {
  Surprise surprise;
  surprise.add(scores, words, targets);
  return surprise.perplexity();
}

TEST(Surprise, WhoCannotTellWordsApartHasThePerplexityOfTheirNumber) {
  EXPECT_NEAR(perplexity_of(std::vector<float>(8, 3.5F), 4, {0, 3}), 4, 1e-12);
}

TEST(Surprise, IsTheGeometricMeanOfTheWordsShares) {
  // Shares 1/4, 3/4 and 1/2, 1/2: the perplexity of the words taken is 1 / sqrt(3/4 * 1/2).
  EXPECT_NEAR(perplexity_of({0, std::log(3.0F), 7, 7}, 2, {1, 0}), 1 / std::sqrt(0.375), 1e-6);
}

TEST(Surprise, LargeScoresDoNotOverflow) { EXPECT_NEAR(perplexity_of({1e4F, 1e4F}, 2, {0}), 2, 1e-12); }

TEST(Surprise, NegativeTargetsAreLeftOut) {
  Surprise surprise;
  surprise.add(std::vector<float>{0, 0, 50, -50}, 2, Targets{0, -100});
  EXPECT_EQ(surprise.tokens(), 1);
  EXPECT_NEAR(surprise.perplexity(), 2, 1e-12);
}

TEST(Surprise, TextsAreSummedByTokens) {
  Surprise surprise;
  surprise.add(std::vector<float>(2, 0.0F), 2, Targets{0});            // log 2
  surprise.add(std::vector<float>(3 * 8, 0.0F), 8, Targets{0, 1, 2});  // three times log 8
  EXPECT_NEAR(surprise.perplexity(), std::exp(10 * std::log(2.0) / 4), 1e-12);
}

TEST(Surprise, OneBrokenRowBreaksAll) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(perplexity_of({0, 0, kNan, 0}, 2, {0, 1})));
  EXPECT_TRUE(std::isnan(perplexity_of({0, kInfinite}, 2, {0})));
  EXPECT_TRUE(std::isinf(perplexity_of({-kInfinite, 0}, 2, {0}))) << "a word that cannot be";
}

TEST(Surprise, NothingHasNoPerplexityAndAnUnknownWordIsRefused) {
  EXPECT_TRUE(std::isnan(Surprise().perplexity()));
  EXPECT_THROW(perplexity_of({0, 0}, 2, {2}), Error);
}

}  // namespace
}  // namespace vernier
