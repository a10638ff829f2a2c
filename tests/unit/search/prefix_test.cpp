#include "search/prefix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace vernier {
namespace {

constexpr double kInfinite = std::numeric_limits<double>::infinity();

Trial measured(double damage) { return {.verdict = damage <= 1 ? Verdict::Good : Verdict::Bad, .damage = damage}; }

// Eight items of damage 1, so that residual[m] = 8 - m.
Ranking even_ranking() { return rank(std::vector<SearchItem>(8, {1, 1})); }

TEST(Rank, OrdersByDamagePerCostWithMustKeepsInFront) {
  const std::vector<SearchItem> items{{1, 1}, {6, 2}, {kInfinite, 9}, {2, 1}};
  const Ranking ranking = rank(items);
  EXPECT_EQ(ranking.order, (std::vector<std::size_t>{2, 1, 3, 0}));
  EXPECT_EQ(ranking.residual, (std::vector<double>{9, 9, 3, 1, 0}));
  EXPECT_EQ(ranking.mandatory, 1U);
  EXPECT_EQ(prefix(ranking, 2), (KeptSet{1, 2}));
}

TEST(Aim, ScalesThePredictionByTheOneMeasuredSide) {
  // All low measured 2 for a residual of 8: the limit lies just above half of it.
  const Bracket bracket{{0, measured(2)}, {8, measured(0)}};
  EXPECT_EQ(aim(bracket, even_ranking()), 5U);
  EXPECT_DOUBLE_EQ(predicted_damage(bracket, even_ranking(), 4), 1);
}

TEST(Aim, InterpolatesBetweenBothSidesInTheLogarithm) {
  // 64 at residual 8 and 1/4 at residual 2: damage grows with the fourth power of the residual.
  const Bracket bracket{{0, measured(64)}, {6, measured(0.25)}};
  EXPECT_NEAR(predicted_damage(bracket, even_ranking(), 4), 4, 1e-9);
  EXPECT_NEAR(predicted_damage(bracket, even_ranking(), 0), 64, 1e-9);
  EXPECT_EQ(aim(bracket, even_ranking()), 6U - 1U);
}

TEST(Aim, StaysStrictlyInsideTheBracket) {
  EXPECT_EQ(aim({{3, measured(1.01)}, {5, measured(0.99)}}, even_ranking()), 4U);
  EXPECT_EQ(aim({{3, measured(1e9)}, {8, measured(0)}}, even_ranking()), 7U);
}

TEST(Aim, TakesThePredictionAtItsWordWhenNothingWasMeasured) {
  const Trial overflow{.verdict = Verdict::Bad, .damage = kInfinite};
  EXPECT_TRUE(std::isnan(predicted_damage({{0, overflow}, {8, measured(0)}}, even_ranking(), 4)));
  EXPECT_EQ(aim({{0, overflow}, {8, measured(0)}}, even_ranking()), 8U - 1U);
}

TEST(Aim, IgnoresTheBoundOfAFailureThatStoppedEarly) {
  Trial bound = measured(1.01);
  bound.stopped_early = true;
  // 1/2 at residual 2 alone decides: 1 at residual 4.
  EXPECT_DOUBLE_EQ(predicted_damage({{0, bound}, {6, measured(0.5)}}, even_ranking(), 4), 1);
}

TEST(Halve, DoublesWhileOnlyAllHasPassed) {
  EXPECT_EQ(halve({{1, measured(2)}, {8, measured(0)}}, even_ranking()), 4U);
  EXPECT_EQ(halve({{1, measured(2)}, {7, measured(0.1)}}, even_ranking()), 4U);
  EXPECT_EQ(halve({{5, measured(2)}, {8, measured(0)}}, even_ranking()), 7U);
}

TEST(IsClosed, WhenNoLengthIsLeftOutsideTheMustKeeps) {
  const Ranking ranking = rank(std::vector<SearchItem>{{kInfinite, 1}, {kInfinite, 1}, {1, 1}, {1, 1}});
  EXPECT_TRUE(is_closed({{0, measured(9)}, {2, measured(0.5)}}, ranking));
  EXPECT_FALSE(is_closed({{0, measured(9)}, {3, measured(0.5)}}, ranking));
  EXPECT_TRUE(is_closed({{2, measured(2)}, {3, measured(0.5)}}, ranking));
}

}  // namespace
}  // namespace vernier
