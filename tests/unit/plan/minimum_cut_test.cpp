#include "plan/minimum_cut.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

namespace vernier::testing {
namespace {

TEST(MinimumCut, ANodeGoesWhereItIsCheaper) {
  MinimumCut cut;
  cut.add(1, 2);
  cut.add(2, 1);
  cut.add(1, 1);
  EXPECT_EQ(cut.first_side(), (std::vector<bool>{true, false, false})) << "a tie: the second side";
}

TEST(MinimumCut, BordersKeepNeighboursTogether) {
  MinimumCut cut;
  const std::size_t a = cut.add(1, 10);
  const std::size_t b = cut.add(6, 5);
  const std::size_t c = cut.add(1, 10);
  for (const auto& [from, to] : {std::pair{a, b}, {b, a}, {b, c}, {c, b}}) cut.connect(from, to, 2);
  EXPECT_EQ(cut.first_side(), (std::vector<bool>{true, true, true})) << "4 for two borders, 1 for b";
}

TEST(MinimumCut, DeepChainsNeedNoStack) {
  MinimumCut cut;
  std::size_t last = cut.add(0, 5);
  for (int i = 0; i < 200000; ++i) {
    const std::size_t next = cut.add();
    cut.connect(last, next, MinimumCut::kNever);
    last = next;
  }
  EXPECT_TRUE(cut.first_side().back());
}

TEST(MinimumCut, IsTheCheapestOfAll) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 300; ++trial) {
    const auto number = [&](int below) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(below)); };
    constexpr std::size_t kNodes = 7;
    MinimumCut cut;
    std::vector<std::pair<std::int64_t, std::int64_t>> nodes;
    for (std::size_t i = 0; i < kNodes; ++i) {
      nodes.emplace_back(number(10), number(10));
      cut.add(nodes.back().first, nodes.back().second);
    }
    std::vector<std::tuple<std::size_t, std::size_t, std::int64_t>> edges;
    for (int i = 0; i < 12; ++i) {
      edges.emplace_back(static_cast<std::size_t>(number(kNodes)), static_cast<std::size_t>(number(kNodes)), number(8));
      cut.connect(std::get<0>(edges.back()), std::get<1>(edges.back()), std::get<2>(edges.back()));
    }
    const auto cost_of = [&](const std::vector<bool>& first) {
      std::int64_t cost = 0;
      for (std::size_t i = 0; i < kNodes; ++i) cost += first[i] ? nodes[i].first : nodes[i].second;
      for (const auto& [from, to, price] : edges) cost += first[from] && !first[to] ? price : 0;
      return cost;
    };
    std::int64_t least = INT64_MAX;
    for (unsigned bits = 0; bits < 1U << kNodes; ++bits) {
      std::vector<bool> first;
      for (std::size_t i = 0; i < kNodes; ++i) first.push_back((bits >> i & 1U) != 0);
      least = std::min(least, cost_of(first));
    }
    EXPECT_EQ(cost_of(cut.first_side()), least) << "trial " << trial;
  }
}

}  // namespace
}  // namespace vernier::testing
