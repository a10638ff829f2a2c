#include "search/trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>

#include "vernier/error.h"

namespace vernier {
namespace {

TEST(Without, RemovesOnlyWhatIsThere) {
  EXPECT_EQ(without({1, 3, 5, 7}, std::array<std::size_t, 2>{3, 4}), (KeptSet{1, 5, 7}));
  EXPECT_EQ(without({1}, std::array<std::size_t, 1>{1}), KeptSet{});
}

TEST(HasExactDamage, ExcludesBoundsAndOverflows) {
  EXPECT_TRUE(has_exact_damage({.damage = 2}));
  EXPECT_FALSE(has_exact_damage({.damage = 2, .stopped_early = true}));
  EXPECT_FALSE(has_exact_damage({.damage = std::numeric_limits<double>::infinity()}));
  EXPECT_FALSE(has_exact_damage({}));
}

TEST(TrialLog, AnswersFromMemoryAndCountsOnlyCalls) {
  std::size_t calls = 0;
  const Oracle oracle = [&calls](const KeptSet&) { return Trial{.verdict = Verdict::Good, .metric = double(++calls)}; };
  const MinimalOptions options;
  TrialLog log(oracle, options);
  EXPECT_EQ(log.ask({1})->metric, 1);
  EXPECT_EQ(log.ask({1})->metric, 1);
  EXPECT_EQ(log.repeat({1})->metric, 2);
  EXPECT_EQ(log.recorded({1})->metric, 1);
  EXPECT_EQ(log.recorded({2}), nullptr);
  EXPECT_EQ(log.calls(), 2U);
}

TEST(TrialLog, ExpectsOnlyWhatItDoesNotKnow) {
  const Oracle oracle = [](const KeptSet&) { return Trial{.verdict = Verdict::Good}; };
  std::vector<KeptSet> ahead;
  MinimalOptions options;
  options.trials_ahead = [&](std::vector<KeptSet> sets) { ahead = std::move(sets); };
  TrialLog log(oracle, options);
  log.ask({1});
  log.expect({{2}, {1}, {1, 3}});
  EXPECT_EQ(ahead, (std::vector<KeptSet>{{2}, {1, 3}}));
}

TEST(TrialLog, StillRemembersWhenTheBudgetIsSpent) {
  const Oracle oracle = [](const KeptSet&) { return Trial{.verdict = Verdict::Bad}; };
  const MinimalOptions options{.max_trials = 1};
  TrialLog log(oracle, options);
  ASSERT_NE(log.ask({1}), nullptr);
  EXPECT_FALSE(log.stopped());
  EXPECT_EQ(log.ask({2}), nullptr);
  EXPECT_TRUE(log.stopped());
  EXPECT_NE(log.ask({1}), nullptr);
}

TEST(TrialLog, TakesAnInterruptedTestForNoAnswer) {
  const Oracle oracle = [](const KeptSet& kept) {
    if (kept.size() == 2) throw Error(ErrorKind::Interrupted, "interrupted");
    return Trial{.verdict = Verdict::Good};
  };
  const MinimalOptions options;
  TrialLog log(oracle, options);
  ASSERT_NE(log.ask({1}), nullptr);
  EXPECT_EQ(log.ask({1, 2}), nullptr);
  EXPECT_TRUE(log.stopped());
  EXPECT_EQ(log.calls(), 1U);
  EXPECT_EQ(log.recorded({1, 2}), nullptr) << "it would count as failed";
}

TEST(TrialLog, NoticesAFailingSetThatHoldsAPassingOne) {
  const Oracle oracle = [](const KeptSet& kept) {
    return Trial{.verdict = kept.size() == 2 ? Verdict::Good : Verdict::Bad};
  };
  const MinimalOptions options;
  TrialLog log(oracle, options);
  log.ask({1, 2});
  log.ask({2});
  log.ask({3, 4, 5});
  EXPECT_FALSE(log.contradiction().has_value());
  log.ask({1, 2, 3});
  EXPECT_EQ(log.contradiction(), (KeptSet{1, 2, 3}));
}

}  // namespace
}  // namespace vernier
