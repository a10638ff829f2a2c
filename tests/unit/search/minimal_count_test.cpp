// Cost is behaviour: how many oracle calls a search may make, and how large its sets may be, over 200 toy networks
// each.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "toy_oracles.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

constexpr std::size_t kSeeds = 200;

struct Statistics {
  double mean_calls = 0;  // beyond the two ends
  double mean_kept = 0;
  double mean_excess = 0;         // kept / optimum
  std::size_t within_budget = 0;  // at most |kept| + 12 calls, the ends included
};

using MakeToy = std::function<toys::Toy(std::uint64_t)>;

/// Every search must also end certified, by our checker and by asking the oracle again.
Statistics run_all(const MakeToy& make, bool early_stop = false) {
  Statistics sum;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const toys::Toy toy = make(seed);
    const Oracle oracle = toys::honest(toy, early_stop);
    const toys::Run run = toys::search(toy, oracle);
    const KeptSet& kept = run.result.kept;
    EXPECT_EQ(run.result.end, SearchEnd::Certified) << "seed " << seed;
    EXPECT_EQ(run.result.trials, run.trials.size()) << "seed " << seed;
    const auto recorded = check_certificate(toy.items.size(), kept, run.result.certificate, run.trials);
    EXPECT_TRUE(recorded.valid()) << "seed " << seed << ": " << recorded.faults.front();
    const auto again = toys::recheck(toy.items.size(), kept, run.result.certificate, oracle);
    EXPECT_TRUE(again.valid()) << "seed " << seed << ": " << again.faults.front();
    sum.mean_calls += static_cast<double>(run.beyond_ends()) / kSeeds;
    sum.mean_kept += static_cast<double>(kept.size());
    sum.mean_excess += static_cast<double>(kept.size()) / static_cast<double>(toy.optimum) / kSeeds;
    sum.within_budget += run.trials.size() <= kept.size() + 12;
  }
  sum.mean_kept /= kSeeds;
  return sum;
}

// The limits leave about a fifth above what bench/search_toys.cpp prints, for other standard libraries' random numbers.

TEST(SearchMinimalCount, ThreeOfAHundredNeedSixCalls) {
  const Statistics got = run_all([](auto seed) { return toys::spiky(100, 3, 1, seed); });
  EXPECT_LE(got.mean_calls, 6);
  EXPECT_DOUBLE_EQ(got.mean_kept, 3);
  EXPECT_EQ(got.within_budget, kSeeds);
}

TEST(SearchMinimalCount, EightOfThreeHundredNeedElevenCalls) {
  const Statistics got = run_all([](auto seed) { return toys::spiky(300, 8, 1, seed); });
  EXPECT_LE(got.mean_calls, 11);
  EXPECT_DOUBLE_EQ(got.mean_kept, 8);
  EXPECT_EQ(got.within_budget, kSeeds);
}

TEST(SearchMinimalCount, AVeryNoisyRankingCostsTwiceAsMuch) {
  const Statistics got = run_all([](auto seed) { return toys::spiky(300, 8, 2, seed); });
  EXPECT_LE(got.mean_calls, 21);
  EXPECT_DOUBLE_EQ(got.mean_kept, 8);
}

TEST(SearchMinimalCount, EarlyStoppedFailuresCostNoMoreCalls) {
  const Statistics got = run_all([](auto seed) { return toys::spiky(300, 8, 1, seed); }, /*early_stop=*/true);
  EXPECT_LE(got.mean_calls, 11);
  EXPECT_EQ(got.within_budget, kSeeds);
}

TEST(SearchMinimalCount, InteractionsOfPairsAreCertifiedToo) {
  const Statistics got = run_all([](auto seed) { return toys::with_interactions(toys::spiky(300, 8, 1, seed), seed); });
  EXPECT_LE(got.mean_calls, 11);
  EXPECT_LE(got.mean_kept, 8.2);
}

TEST(SearchMinimalCount, DiffuseDamageStaysNearTheOptimum) {
  const Statistics got = run_all([](auto seed) { return toys::diffuse(150, 32, 1, seed); });
  EXPECT_LE(got.mean_calls, 66);
  EXPECT_LE(got.mean_excess, 1.5);
}

TEST(SearchMinimalCount, AGoodRankingStaysInTheBudgetEvenWhenDiffuse) {
  const Statistics got = run_all([](auto seed) { return toys::diffuse(60, 13, 0.5, seed); });
  EXPECT_LE(got.mean_excess, 1.15);
  EXPECT_GE(got.within_budget, kSeeds * 9 / 10);
}

TEST(SearchMinimalCount, DiffuseInteractionsAreCertifiedToo) {
  const Statistics got =
      run_all([](auto seed) { return toys::with_interactions(toys::diffuse(150, 32, 1, seed), seed); });
  EXPECT_LE(got.mean_calls, 72);
}

TEST(SearchMinimalCount, DamageThatSaturatesOnlyMisleadsTheFirstGuess) {
  Statistics got;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const toys::Toy toy = toys::diffuse(60, 13, 0.5, seed);
    const Oracle honest = toys::honest(toy);
    const toys::Run run = toys::search(toy, [&honest](const KeptSet& kept) {
      Trial trial = honest(kept);
      if (trial.damage > 1) trial.damage = std::pow(trial.damage, 0.4);
      return trial;
    });
    EXPECT_EQ(run.result.end, SearchEnd::Certified) << "seed " << seed;
    got.mean_calls += static_cast<double>(run.beyond_ends()) / kSeeds;
  }
  EXPECT_LE(got.mean_calls, 22);
}

}  // namespace
}  // namespace vernier
