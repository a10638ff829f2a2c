#include "search/minimal.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "toy_oracles.h"
#include "vernier/error.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(SearchMinimal, KeepsNothingWhenAllLowPasses) {
  const toys::Toy toy = toys::ranked({0.1, 0.2, 0.3});
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::NothingNeeded);
  EXPECT_TRUE(run.result.kept.empty());
  EXPECT_EQ(run.result.trials, 2U);
  EXPECT_EQ(run.result.final_trial.verdict, Verdict::Good);
  EXPECT_TRUE(check_certificate(3, {}, run.result.certificate, run.trials).valid());
}

TEST(SearchMinimal, GivesUpAfterTheEndsWhenAllHighFails) {
  const toys::Toy toy = toys::ranked({5, 5});
  const toys::Run run = toys::search(toy, [](const KeptSet&) { return Trial{.verdict = Verdict::Bad, .damage = 3}; });
  EXPECT_EQ(run.result.end, SearchEnd::Impossible);
  EXPECT_EQ(run.result.trials, 2U);
  EXPECT_EQ(run.result.all_high.damage, 3);
  EXPECT_FALSE(run.result.certificate.complete);
}

TEST(SearchMinimal, AsksOnceWhenThereAreNoItems) {
  const toys::Toy toy;
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::NothingNeeded);
  EXPECT_EQ(run.trials.size(), 1U);
}

TEST(SearchMinimal, NeedsNoThirdCallForASingleItem) {
  const toys::Toy toy = toys::ranked({5});
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept, KeptSet{0});
  EXPECT_EQ(run.trials.size(), 2U);
}

TEST(SearchMinimal, KeepsEverythingWhenEveryItemIsNeeded) {
  const toys::Toy toy = toys::ranked({2, 3, 4, 5});
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept, (KeptSet{0, 1, 2, 3}));
}

TEST(SearchMinimal, NeverAsksTwiceForOneSetOfAConsistentOracle) {
  const toys::Toy toy = toys::diffuse(60, 13, 1, 7);
  const toys::Run run = toys::search(toy, toys::honest(toy));
  std::vector<KeptSet> sets;
  for (const RecordedTrial& recorded : run.trials) sets.push_back(recorded.kept);
  std::sort(sets.begin(), sets.end());
  EXPECT_EQ(std::adjacent_find(sets.begin(), sets.end()), sets.end());
}

TEST(SearchMinimal, DoesNotCareAboutTheUnitOfThePrediction) {
  for (const double factor : {1e-9, 1.0, 1e9}) {
    toys::Toy toy = toys::spiky(100, 3, 0.5, 3);
    for (SearchItem& item : toy.items) item.predicted_damage *= factor;
    EXPECT_LE(toys::search(toy, toys::honest(toy)).beyond_ends(), 8U) << factor;
    EXPECT_LE(toys::search(toy, toys::honest(toy, /*early_stop=*/true)).beyond_ends(), 14U) << factor;
  }
}

TEST(SearchMinimal, ManagesWithVerdictsAlone) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const toys::Toy toy = toys::spiky(100, 3, 1, seed);
    const Oracle honest = toys::honest(toy);
    const Oracle verdicts_only = [&honest](const KeptSet& kept) { return Trial{.verdict = honest(kept).verdict}; };
    const toys::Run run = toys::search(toy, verdicts_only);
    EXPECT_EQ(run.result.end, SearchEnd::Certified) << seed;
    EXPECT_EQ(run.result.kept.size(), 3U) << seed;
    EXPECT_LE(run.beyond_ends(), 40U) << seed;
  }
}

TEST(SearchMinimal, ManagesWithoutAnyPrediction) {
  toys::Toy toy = toys::spiky(100, 3, 1, 5);
  for (SearchItem& item : toy.items) item.predicted_damage = 0;
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept.size(), 3U);
}

TEST(SearchMinimal, PrefersToKeepWhatIsCheap) {
  // Three of the four must stay: the one that goes is one of the dear ones.
  toys::Toy toy = toys::ranked({0.6, 0.6, 0.6, 0.6});
  toy.items[0].cost = 100;
  toy.items[3].cost = 100;
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept, (KeptSet{0, 1, 2}));
}

TEST(SearchMinimal, IsNeverDearerThanASearchByAnotherCost) {
  // Costs over six orders of magnitude, as multiply-accumulates are, and predictions that are off by factors.
  std::size_t cheaper = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    toys::Toy toy = toys::with_interactions(toys::diffuse(40, 8, 2.5, seed), seed);
    for (toys::Pair& pair : toy.pairs) pair.extra *= 8;
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> magnitude(0, 6);
    const toys::Run by_count = toys::search(toy, toys::honest(toy));
    MinimalOptions options;
    for (SearchItem& item : toy.items) item.cost = std::pow(10, magnitude(random));
    // Conversions between neighbours cost as much as layers do.
    for (std::size_t i = 1; i < toy.items.size(); ++i)
      options.borders.push_back({{i - 1, i}, std::pow(10, magnitude(random))});
    const auto cost = [&](const KeptSet& kept) { return cost_of(toy.items, options.borders, kept); };
    const toys::Run alone = toys::search(toy, toys::honest(toy), options);
    options.other_costs.push_back({std::vector<double>(toy.items.size(), 1), {}});
    const toys::Run both = toys::search(toy, toys::honest(toy), options);
    EXPECT_LE(cost(both.result.kept), cost(by_count.result.kept)) << seed;
    EXPECT_LE(cost(both.result.kept), cost(alone.result.kept)) << seed;
    EXPECT_EQ(both.result.end, SearchEnd::Certified) << seed;
    EXPECT_TRUE(both.result.certificate.complete) << seed;
    cheaper += cost(both.result.kept) < cost(alone.result.kept) ? 1 : 0;
  }
  EXPECT_GT(cheaper, 0U);
}

TEST(SearchMinimal, StartsWithTheItemsThatMustBeKept) {
  toys::Toy toy = toys::spiky(100, 3, 0.3, 11);
  toy.damage[40] = kInfinity;
  toy.items[40].predicted_damage = kInfinity;
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept.size(), 4U);
  EXPECT_TRUE(std::binary_search(run.result.kept.begin(), run.result.kept.end(), 40U));
  for (std::size_t t = 2; t < run.trials.size(); ++t) {
    const KeptSet& asked = run.trials[t].kept;
    const bool without_it = !std::binary_search(asked.begin(), asked.end(), 40U);
    EXPECT_EQ(without_it, std::isinf(run.trials[t].trial.damage));
  }
  EXPECT_TRUE(check_certificate(100, run.result.kept, run.result.certificate, run.trials).valid());
}

TEST(SearchMinimal, DropsAnItemThatWasWronglyPredictedToOverflow) {
  toys::Toy toy = toys::spiky(100, 3, 0.3, 12);
  const auto harmless = static_cast<std::size_t>(
      std::find_if(toy.damage.begin(), toy.damage.end(), [](double d) { return d < 0.1; }) - toy.damage.begin());
  toy.items[harmless].predicted_damage = kInfinity;
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept.size(), 3U);
  EXPECT_FALSE(std::binary_search(run.result.kept.begin(), run.result.kept.end(), harmless));
}

TEST(SearchMinimal, EndsWhenThePassingSetSitsExactlyOnTheLimit) {
  // No headroom, and items that do nothing at all: each of them can still go.
  const toys::Toy toy = toys::ranked({0, 0, 4, 1, 0});
  const toys::Run run = toys::search(toy, toys::honest(toy));
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept, KeptSet{2});
}

TEST(SearchMinimal, RefusesItemsThatCannotBeRanked) {
  const Oracle oracle = [](const KeptSet&) { return Trial{.verdict = Verdict::Good}; };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const SearchItem& item : {SearchItem{nan, 1}, SearchItem{-1, 1}, SearchItem{1, 0}, SearchItem{1, kInfinity}}) {
    try {
      search_minimal({{1, 1}, item}, oracle, {});
      FAIL() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::Internal);
      EXPECT_NE(std::string(error.what()).find("search item 1"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace vernier
