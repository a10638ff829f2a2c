#include "search/exchange.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/minimal.h"
#include "toy_oracles.h"
#include "vernier/error.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

constexpr std::size_t kLadderSeeds = 200;

/// No item is kept without the one that it needs.
bool is_closed(const std::vector<SearchItem>& items, const KeptSet& kept) {
  return std::ranges::all_of(kept, [&](std::size_t i) {
    return items[i].needs == kNoItem || std::ranges::binary_search(kept, items[i].needs);
  });
}

struct Quality {
  double worst = 1;
  std::size_t within = 0;  // 5 % of the optimum
};

/// Searches toys whose optimum is known, and checks each certificate by running its tests again.
Quality searched(std::size_t layers, std::size_t rungs, double sigma, bool early_stop) {
  Quality quality;
  for (std::uint64_t seed = 1; seed <= kLadderSeeds; ++seed) {
    const toys::Toy toy = toys::ladder(layers, rungs, sigma, seed);
    const Oracle oracle = toys::honest(toy, early_stop);
    MinimalOptions options;
    options.exchange = true;
    const toys::Run run = toys::search(toy, oracle, options);
    EXPECT_EQ(run.result.end, SearchEnd::Certified) << seed;
    EXPECT_TRUE(is_closed(toy.items, run.result.kept)) << seed;
    const CertificateCheck check =
        toys::recheck(toy.items.size(), run.result.kept, run.result.certificate, oracle, toy.items);
    EXPECT_TRUE(check.valid()) << seed << ": " << check.faults.front();
    const double ratio = run.result.cost / toys::cheapest_cost(toy);
    quality.worst = std::max(quality.worst, ratio);
    quality.within += ratio <= 1.05;
  }
  return quality;
}

TEST(SearchExchange, ComesWithinFivePercentOfTheOptimumWithThreeRungs) {
  const Quality quality = searched(8, 3, 0.3, /*early_stop=*/false);
  EXPECT_EQ(quality.within, kLadderSeeds);
  EXPECT_LE(quality.worst, 1.05);
}

TEST(SearchExchange, ComesWithinFivePercentOfTheOptimumWithFourRungs) {
  const Quality quality = searched(6, 4, 0.3, /*early_stop=*/false);
  EXPECT_GE(quality.within, kLadderSeeds - 1);
}

TEST(SearchExchange, KnowsLessWhereFailingTrialsEndEarly) {
  const Quality quality = searched(6, 3, 0.3, /*early_stop=*/true);
  EXPECT_GE(quality.within, kLadderSeeds * 95 / 100);
}

TEST(SearchExchange, IsNeverDearerThanTheEndsOfTheLadderAlone) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const toys::Toy toy = toys::ladder(12, 3, 1, seed);
    toys::Toy ends = toy;  // the steps of a layer as one item
    ends.items.clear();
    ends.damage.clear();
    for (std::size_t i = 0; i < toy.items.size(); i += 2) {
      ends.damage.push_back(toy.damage[i] + toy.damage[i + 1]);
      ends.items.push_back({toy.items[i].predicted_damage + toy.items[i + 1].predicted_damage,
                            toy.items[i].cost + toy.items[i + 1].cost});
    }
    MinimalOptions options;
    const double with_two = toys::search(ends, toys::honest(ends), options).result.cost;
    options.exchange = true;
    EXPECT_LE(toys::search(toy, toys::honest(toy), options).result.cost, with_two * (1 + 1e-9)) << seed;
  }
}

TEST(SearchExchange, FindsWhatDroppingCannot) {
  // By damage per cost item 0 comes first, and without it everything else is needed. Item 1 alone is cheaper.
  toys::Toy toy = toys::ranked({0.9, 0.85, 0.2});
  toy.items[0].cost = 1;
  toy.items[1].cost = 0.97;
  toy.items[2].cost = 0.3;
  MinimalOptions options;
  const double dropped = toys::search(toy, toys::honest(toy), options).result.cost;
  options.exchange = true;
  const double exchanged = toys::search(toy, toys::honest(toy), options).result.cost;
  EXPECT_LE(exchanged, dropped);
  EXPECT_DOUBLE_EQ(exchanged, toys::cheapest_cost(toy));
}

TEST(SearchExchange, ReconstructsDamagesThatAddUp) {
  const toys::Toy toy = toys::ranked({0.5, 0.25, 2});
  std::vector<SearchItem> items = toy.items;
  for (SearchItem& item : items) item.predicted_damage = 1;  // nothing is known
  const Oracle oracle = toys::honest(toy);
  const MinimalOptions options;
  TrialLog log(oracle, options);
  for (const KeptSet& set : {KeptSet{}, KeptSet{0}, KeptSet{1}, KeptSet{0, 1, 2}}) log.ask(set);
  const std::vector<double> found = damages_from_trials(items, log);
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], toy.damage[i], 1e-3) << i;
}

TEST(SearchExchange, SumsUpToTheCheapestSet) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    toys::Toy toy = toys::ladder(8, 3, 0, seed);
    const KeptSet kept = cheapest_by_sum(toy.items, toy.damage, 0.999);
    EXPECT_LE(toys::damage_of(toy, kept), 1);
    EXPECT_LE(cost_of(toy.items, {}, kept), 1.01 * toys::cheapest_cost(toy)) << seed;
  }
}

TEST(SearchMinimal, RefusesItemsThatNeedWhatComesLater) {
  toys::Toy toy = toys::ranked({1, 1});
  toy.items[0].needs = 1;
  EXPECT_THROW(toys::search(toy, toys::honest(toy)), Error);
}

TEST(Certificate, WantsATrialForWhatNoKeptItemNeeds) {
  toys::Toy toy = toys::ranked({2, 2});
  toy.items[1].needs = 0;
  Certificate certificate;
  certificate.complete = true;
  certificate.needed = {{1, Trial{.verdict = Verdict::Bad}}};
  certificate.needed_below = {0};
  const std::vector<RecordedTrial> trials{{{0, 1}, Trial{.verdict = Verdict::Good}},
                                          {{0}, Trial{.verdict = Verdict::Bad}}};
  EXPECT_TRUE(check_certificate(2, {0, 1}, certificate, trials, toy.items).valid());
  toy.items[1].needs = kNoItem;
  EXPECT_FALSE(check_certificate(2, {0, 1}, certificate, trials, toy.items).valid());
}

}  // namespace
}  // namespace vernier
