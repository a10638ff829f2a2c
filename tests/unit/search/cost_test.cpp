// Borders: what a kept set pays where it meets the rest.
#include "search/cost.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "toy_oracles.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

TEST(SearchCost, PaysABorderOnceWhereItsItemsDiffer) {
  const std::vector<SearchItem> items{{1, 1}, {1, 2}, {1, 4}};
  const std::vector<Border> borders{{{0, 1}, 10}, {{0, 1, 2}, 100}};
  EXPECT_DOUBLE_EQ(cost_of(items, borders, {}), 0);
  EXPECT_DOUBLE_EQ(cost_of(items, borders, {0}), 111);
  EXPECT_DOUBLE_EQ(cost_of(items, borders, {0, 1}), 103);
  EXPECT_DOUBLE_EQ(cost_of(items, borders, {0, 1, 2}), 7);
}

/// A chain in which keeping 2 and 4 is needed, and 3 between them costs less than two borders.
toys::Toy chain() {
  toys::Toy toy;
  toy.damage = {0.01, 0.01, 5, 0.01, 5, 0.01, 0.01};
  for (const double damage : toy.damage) toy.items.push_back({damage, 1});
  toy.optimum = 2;
  return toy;
}

std::vector<Border> chain_borders(std::size_t count, double cost) {
  std::vector<Border> borders;
  for (std::size_t i = 0; i + 1 < count; ++i) borders.push_back({{i, i + 1}, cost});
  return borders;
}

TEST(SearchCost, KeepsALayerBetweenTwoWhereThatSavesCasts) {
  const toys::Toy toy = chain();
  MinimalOptions options;
  options.borders = chain_borders(toy.items.size(), 0.8);
  const toys::Run run = toys::search(toy, toys::honest(toy), options);
  EXPECT_EQ(run.result.kept, (KeptSet{2, 3, 4}));
  EXPECT_DOUBLE_EQ(run.result.cost, 3 + 2 * 0.8);
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.certificate.not_cheaper, (std::vector<std::size_t>{3}));
  const auto check = [&](std::span<const Border> borders) {
    return check_certificate(toy.items.size(), run.result.kept, run.result.certificate, run.trials, toy.items, borders);
  };
  EXPECT_TRUE(check(options.borders).valid());
  EXPECT_FALSE(check({}).valid());  // without borders item 3 would have to be tested
}

TEST(SearchCost, CheapBordersLeaveTheGapOpen) {
  const toys::Toy toy = chain();
  MinimalOptions options;
  options.borders = chain_borders(toy.items.size(), 0.3);
  EXPECT_EQ(toys::search(toy, toys::honest(toy), options).result.kept, (KeptSet{2, 4}));
}

TEST(SearchCost, BordersNeverBreakACertificate) {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const toys::Toy toy = toys::diffuse(60, 13, 0.5, seed);
    MinimalOptions options;
    options.borders = chain_borders(toy.items.size(), 0.6);
    const toys::Run run = toys::search(toy, toys::honest(toy), options);
    EXPECT_EQ(run.result.end, SearchEnd::Certified) << seed;
    EXPECT_TRUE(check_certificate(toy.items.size(), run.result.kept, run.result.certificate, run.trials, toy.items,
                                  options.borders)
                    .valid())
        << seed;
    const toys::Run without = toys::search(toy, toys::honest(toy));
    EXPECT_LE(run.result.cost, cost_of(toy.items, options.borders, without.result.kept) * 1.1) << seed;
  }
}

/// As where the float kernels are the fast ones: any border costs more than all items.
TEST(SearchCost, EverythingIsKeptWhereThatCostsLess) {
  const toys::Toy toy = chain();
  MinimalOptions options;
  options.borders = chain_borders(toy.items.size(), 100);
  const toys::Run run = toys::search(toy, toys::honest(toy), options);
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept.size(), toy.items.size());
  EXPECT_EQ(run.result.certificate.not_cheaper.size(), toy.items.size()) << "dropping one makes a border";
  EXPECT_TRUE(check_certificate(toy.items.size(), run.result.kept, run.result.certificate, run.trials, toy.items,
                                options.borders)
                  .valid());
  EXPECT_EQ(run.result.notes.back().code, "everything-costs-no-more");
}

/// Beside the chain one item is needed and one is not, and both are dropped without a border.
TEST(SearchCost, OfEverythingWhatNoBorderPaysForIsTestedStill) {
  toys::Toy toy = chain();
  for (const double damage : {5.0, 0.01}) {
    toy.damage.push_back(damage);
    toy.items.push_back({damage, 5});
  }
  MinimalOptions options;
  options.borders = chain_borders(7, 100);
  const toys::Run run = toys::search(toy, toys::honest(toy), options);
  EXPECT_EQ(run.result.end, SearchEnd::Certified);
  EXPECT_EQ(run.result.kept, (KeptSet{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_TRUE(check_certificate(toy.items.size(), run.result.kept, run.result.certificate, run.trials, toy.items,
                                options.borders)
                  .valid());
}

}  // namespace
}  // namespace vernier
