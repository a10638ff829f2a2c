// Cheapest hitting sets against brute force, and what a proof may claim.
#include "search/minimum.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>

#include "toy_oracles.h"
#include "vernier/error.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

struct Random {
  std::vector<SearchItem> items;
  std::vector<Border> borders;
  std::vector<Clause> clauses;
};

Random random_problem(std::uint64_t seed, std::size_t count) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> cost(0.1, 3);
  const auto subset = [&](std::size_t least, std::size_t most) {
    std::vector<std::size_t> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = i;
    std::shuffle(all.begin(), all.end(), random);
    all.resize(std::uniform_int_distribution<std::size_t>(least, most)(random));
    std::sort(all.begin(), all.end());
    return all;
  };
  Random problem;
  for (std::size_t i = 0; i < count; ++i) problem.items.push_back({1, cost(random)});
  for (std::size_t b = 0; b < count; ++b) problem.borders.push_back({subset(2, 3), cost(random)});
  for (std::size_t c = 0; c < count / 2; ++c) problem.clauses.push_back(subset(1, 4));
  return problem;
}

KeptSet set_of(std::size_t bits, std::size_t count) {
  KeptSet set;
  for (std::size_t i = 0; i < count; ++i) {
    if ((bits >> i & 1U) != 0) set.push_back(i);
  }
  return set;
}

bool hits(const KeptSet& set, const std::vector<Clause>& clauses) {
  return std::all_of(clauses.begin(), clauses.end(), [&](const Clause& clause) {
    return std::any_of(clause.begin(), clause.end(),
                       [&](std::size_t i) { return std::binary_search(set.begin(), set.end(), i); });
  });
}

TEST(HittingSet, IsTheCheapestOfAll) {
  constexpr std::size_t kItems = 10;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Random problem = random_problem(seed, kItems);
    const HittingSet found = cheapest_hitting_set(problem.items, problem.borders, problem.clauses);
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t bits = 0; bits < (1U << kItems); ++bits) {
      const KeptSet set = set_of(bits, kItems);
      if (hits(set, problem.clauses)) least = std::min(least, cost_of(problem.items, problem.borders, set));
    }
    EXPECT_TRUE(hits(found.set, problem.clauses)) << seed;
    EXPECT_NEAR(found.cost, least, 1e-9) << seed;
    EXPECT_NEAR(found.lower_bound, least, 1e-9) << seed;
  }
}

TEST(HittingSet, BoundsFromBelowWhenItMustGiveUp) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const Random problem = random_problem(seed, 12);
    const double least = cheapest_hitting_set(problem.items, problem.borders, problem.clauses).cost;
    const HittingSet hurried = cheapest_hitting_set(problem.items, problem.borders, problem.clauses, 3);
    EXPECT_LE(hurried.lower_bound, least + 1e-9) << seed;
    EXPECT_GE(hurried.cost, least - 1e-9) << seed;
    EXPECT_TRUE(hits(hurried.set, problem.clauses)) << seed;
  }
}

TEST(HittingSet, KeepsNothingWithoutClausesAndRefusesAnEmptyOne) {
  const Random problem = random_problem(1, 5);
  EXPECT_TRUE(cheapest_hitting_set(problem.items, problem.borders, {}).set.empty());
  EXPECT_THROW(cheapest_hitting_set(problem.items, problem.borders, {{}}), Error);
}

MinimalOptions proving() {
  MinimalOptions options;
  options.prove_minimum = true;
  return options;
}

TEST(ProveMinimum, ProvesFewCulpritsWithOneCallEach) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    const toys::Toy toy = toys::spiky(100, 3, 1, seed);
    const toys::Run plain = toys::search(toy, toys::honest(toy));
    const toys::Run proven = toys::search(toy, toys::honest(toy), proving());
    ASSERT_TRUE(proven.result.lower_bound.has_value());
    EXPECT_DOUBLE_EQ(*proven.result.lower_bound, 3) << seed;
    EXPECT_DOUBLE_EQ(proven.result.cost, 3) << seed;
    EXPECT_LE(proven.trials.size(), plain.trials.size() + 4) << seed;
  }
}

/// The cheapest passing set, by trying all.
double cheapest_passing(const toys::Toy& toy, const std::vector<Border>& borders) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t bits = 0; bits < (std::size_t{1} << toy.items.size()); ++bits) {
    const KeptSet set = set_of(bits, toy.items.size());
    if (toys::damage_of(toy, set) <= 1) least = std::min(least, cost_of(toy.items, borders, set));
  }
  return least;
}

TEST(ProveMinimum, FindsTheMinimumOfSmallDiffuseNetworks) {
  std::size_t closed = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const toys::Toy toy = toys::diffuse(12, 4, 1, seed);
    const MinimalResult result = toys::search(toy, toys::honest(toy), proving()).result;
    const double least = cheapest_passing(toy, {});
    EXPECT_LE(*result.lower_bound, least) << seed;
    EXPECT_GE(result.cost, least) << seed;
    EXPECT_EQ(result.end, SearchEnd::Certified) << seed;
    closed += *result.lower_bound >= result.cost - 1e-9;
    if (*result.lower_bound >= result.cost - 1e-9) {
      EXPECT_DOUBLE_EQ(result.cost, least) << seed;
    }
  }
  EXPECT_GE(closed, 27U);
}

TEST(ProveMinimum, CountsBorders) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    const toys::Toy toy = toys::diffuse(12, 4, 0.5, seed);
    MinimalOptions options = proving();
    for (std::size_t i = 0; i + 1 < toy.items.size(); ++i) options.borders.push_back({{i, i + 1}, 0.7});
    const toys::Run run = toys::search(toy, toys::honest(toy), options);
    const double least = cheapest_passing(toy, options.borders);
    EXPECT_LE(*run.result.lower_bound, least + 1e-9) << seed;
    EXPECT_GE(run.result.cost, least - 1e-9) << seed;
    EXPECT_TRUE(check_certificate(toy.items.size(), run.result.kept, run.result.certificate, run.trials, toy.items,
                                  options.borders)
                    .valid())
        << seed;
  }
}

TEST(ProveMinimum, ClaimsNothingOfAnOracleThatIsNotMonotone) {
  const toys::Toy toy = toys::diffuse(20, 6, 0.3, 4);
  const Oracle honest = toys::honest(toy);
  // Supersets of the answer fail, only everything passes.
  const Oracle odd = [&](const KeptSet& kept) {
    Trial trial = honest(kept);
    if (kept.size() >= 12 && kept.size() < 20) trial.verdict = Verdict::Bad;
    return trial;
  };
  const MinimalResult result = toys::search(toy, odd, proving()).result;
  ASSERT_TRUE(result.non_monotone);
  EXPECT_FALSE(result.lower_bound.has_value());
}

TEST(ProveMinimum, UndecidedTestsAreNoEvidence) {
  const toys::Toy toy = toys::spiky(30, 2, 0.3, 5);
  const Oracle honest = toys::honest(toy);
  const Oracle invalid = [&](const KeptSet& kept) {
    Trial trial = honest(kept);
    if (trial.verdict == Verdict::Bad && !kept.empty()) trial.verdict = Verdict::Invalid;
    return trial;
  };
  const MinimalResult result = toys::search(toy, invalid, proving()).result;
  EXPECT_LE(*result.lower_bound, 1);  // only the all-low failure says something
}

}  // namespace
}  // namespace vernier
