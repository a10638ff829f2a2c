#include "search/ranking_quality.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "toy_oracles.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

using Doubles = std::vector<double>;

TEST(RankCorrelation, IsOneForTheSameOrderAndMinusOneForTheReverse) {
  EXPECT_DOUBLE_EQ(*rank_correlation(Doubles{1, 2, 3, 40}, Doubles{0.1, 5, 6, 7}), 1);
  EXPECT_DOUBLE_EQ(*rank_correlation(Doubles{1, 2, 3, 40}, Doubles{7, 6, 5, 0.1}), -1);
}

TEST(RankCorrelation, SharesTheRankOfEqualValues) {
  // Ranks 0 1.5 1.5 3 against 0 1 2 3: 4.5 / sqrt(4.5 * 5).
  EXPECT_NEAR(*rank_correlation(Doubles{1, 2, 2, 3}, Doubles{1, 2, 3, 4}), std::sqrt(0.9), 1e-12);
}

TEST(RankCorrelation, SaysNothingOfFewOrEqualValues) {
  EXPECT_FALSE(rank_correlation(Doubles{1, 2, 3}, Doubles{1, 2, 3}));
  EXPECT_FALSE(rank_correlation(Doubles{1, 1, 1, 1}, Doubles{1, 2, 3, 4}));
}

TEST(PredictionsFromTrials, ExplainWhatWasMeasured) {
  // The first half does three times as much as was predicted, the second a third.
  const std::vector<SearchItem> items(8, {0.25, 1});
  const Oracle oracle = [](const KeptSet& kept) {
    double damage = 6.0 / 2 + 1.0 / 3;
    for (const std::size_t i : kept) damage -= i < 4 ? 0.75 : 1.0 / 12;
    return Trial{.verdict = damage <= 1 ? Verdict::Good : Verdict::Bad, .damage = damage};
  };
  const MinimalOptions options;
  TrialLog log(oracle, options);
  log.ask({});
  log.ask({0, 1, 2, 3});
  const Doubles better = predictions_from_trials(items, log);
  EXPECT_NEAR(std::accumulate(better.begin(), better.begin() + 4, 0.0), 3, 0.05);
  EXPECT_NEAR(std::accumulate(better.begin() + 4, better.end(), 0.0), 1.0 / 3, 0.05);
  EXPECT_DOUBLE_EQ(better[0], better[3]);  // nothing tells them apart
}

TEST(PredictionsFromTrials, LeaveOutBoundsAndWhatMustBeKept) {
  std::vector<SearchItem> items(4, {1, 1});
  items[0].predicted_damage = std::numeric_limits<double>::infinity();
  const Oracle oracle = [](const KeptSet& kept) {
    return Trial{.verdict = Verdict::Bad, .damage = 8, .stopped_early = kept.size() > 1};
  };
  const MinimalOptions options;
  TrialLog log(oracle, options);
  log.ask({});      // holds what must be kept
  log.ask({0, 1});  // a bound
  EXPECT_EQ(predictions_from_trials(items, log), (Doubles{items[0].predicted_damage, 1, 1, 1}));
}

TEST(PredictionsFromTrials, StayFiniteWhereNothingWasPredicted) {
  const std::vector<SearchItem> items(3, {std::numeric_limits<double>::min(), 1});
  const Oracle oracle = [](const KeptSet& kept) {
    return Trial{.verdict = Verdict::Bad, .damage = 9.0 - 3 * static_cast<double>(kept.size())};
  };
  const MinimalOptions options;
  TrialLog log(oracle, options);
  log.ask({});
  log.ask({0});
  log.ask({1, 2});
  for (const double damage : predictions_from_trials(items, log)) EXPECT_NEAR(damage, 3, 0.1);
}

TEST(SearchMinimal, SaysHowGoodTheRankingWas) {
  const toys::Toy exact = toys::diffuse(60, 13, 0, 7);
  const MinimalResult good = toys::search(exact, toys::honest(exact)).result;
  EXPECT_GT(good.rank_correlation.value(), 0.99);
  EXPECT_GE(good.ranked, 10U);
  const toys::Toy noisy = toys::diffuse(60, 13, 2, 7);
  EXPECT_LT(toys::search(noisy, toys::honest(noisy)).result.rank_correlation.value(), 0.9);
  EXPECT_FALSE(good.ranking_mended);
}

TEST(SearchMinimal, MendsAPoorRankingByItsTrials) {
  // Damage that the ranking puts last: the trials say so, and the search goes on with what they say.
  toys::Toy toy;
  for (std::size_t i = 0; i < 64; ++i) {
    const bool late = i >= 48;
    toy.damage.push_back(late ? 0.4 : 0.004);
    toy.items.push_back({late ? 0.0001 + 1e-6 * static_cast<double>(i) : 1 + 0.01 * static_cast<double>(i), 1});
  }
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_TRUE(run.result.ranking_mended);
  EXPECT_LE(run.result.kept.size(), 16U);
  EXPECT_LE(run.trials.size(), 45U);
}

}  // namespace
}  // namespace vernier
