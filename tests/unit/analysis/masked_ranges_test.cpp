#include "analysis/masked_ranges.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "tiny_networks.h"

namespace vernier::testing {
namespace {

RangeStats range(float low, float high, std::int64_t infinite = 0) {
  RangeStats stats;
  stats.min = low;
  stats.max = high;
  stats.count = 100;
  stats.nonfinite = infinite;
  return stats;
}

/// Lowest values after masks were reached: of a network `nodes` with the logits x and the mask k.
std::map<std::string, float> lows(const std::string& nodes, std::map<std::string, RangeStats> ranges,
                                  const std::set<std::string>& masked) {
  const Model model = model_of(
      "g (float[2,2] x, float[2,2] k, bool[2,2] c) => (float[2,2] y)"
      " <float zero = {0}, float[2] bias = {1, 2}> {" +
      nodes + "}");
  ChosenRanges chosen;
  chosen.ranges = std::move(ranges);
  for (const std::string& tensor : masked) chosen.masks[tensor] = Mask{-1e9F, -1e9F, 1, 1};
  reach_below_masks(chosen, model);
  std::map<std::string, float> found;
  for (const auto& [tensor, stats] : chosen.ranges) found[tensor] = stats.min;
  return found;
}

const std::string kAdded = "[add] s = Add(x, k) [softmax] y = Softmax(s)";

TEST(MaskedRanges, ScoresReachFarEnoughForTheSoftmaxToGiveNothing) {
  const auto found = lows(kAdded, {{"x", range(-1, 1)}, {"k", range(-1e9F, 0)}, {"s", range(-1, 1)}}, {"s"});
  EXPECT_EQ(found.at("s"), -11);
  EXPECT_EQ(found.at("k"), -12) << "from there on a sum is at the lowest code, whatever is added";
  EXPECT_EQ(found.at("x"), -1) << "which has no mask";
}

TEST(MaskedRanges, InfinitiesAreMasksToo) {
  const auto found = lows(kAdded, {{"x", range(-1, 1)}, {"k", range(0, 0, 3)}, {"s", range(-1, 1, 3)}}, {});
  EXPECT_EQ(found.at("s"), -11);
  EXPECT_EQ(found.at("k"), -12);
}

TEST(MaskedRanges, ASoftmaxMayComputeInAnotherType) {
  const auto found =
      lows("[add] s = Add(x, k) [wide] w = Cast<to = 11>(s) [softmax] p = Softmax(w) [back] y = Cast<to = 1>(p)",
           {{"x", range(-1, 1)}, {"k", range(0, 0, 3)}, {"s", range(-1, 1, 3)}}, {});
  EXPECT_EQ(found.at("s"), -11);
  EXPECT_EQ(found.at("k"), -12);
}

TEST(MaskedRanges, DataThatSpanMoreKeepTheirRange) {
  EXPECT_EQ(lows(kAdded, {{"x", range(-20, 20)}, {"s", range(-20, 20)}}, {"s"}).at("s"), -20);
  EXPECT_EQ(lows(kAdded, {{"x", range(-1, 1)}, {"s", range(-1, 1)}}, {}).at("s"), -1) << "no mask";
  EXPECT_EQ(lows(kAdded, {{"x", range(-20000, 1)}, {"s", range(-20000, 1)}}, {}).at("s"), -20000);
}

TEST(MaskedRanges, OnlyWhatASoftmaxReadsMeansNothing) {
  const auto found =
      lows("[add] s = Add(x, k) [relu] y = Relu(s)", {{"k", range(-1e9F, 0)}, {"s", range(-1, 1)}}, {"s"});
  EXPECT_EQ(found.at("s"), -1);
  EXPECT_EQ(found.at("k"), -1e9F);
}

TEST(MaskedRanges, PassWhatMovesAndSelects) {
  const auto found = lows(
      "[biased] m = Add(k, bias) [where] n = Where(c, m, zero) [turn] t = Transpose(n)"
      " [add] s = Add(x, t) [softmax] y = Softmax(s)",
      {{"x", range(-1, 1)},
       {"k", range(0, 0, 3)},
       {"m", range(1, 2)},
       {"n", range(0, 2)},
       {"t", range(0, 2)},
       {"s", range(-1, 3)}},
      {"m", "n", "t", "s"});
  EXPECT_EQ(found.at("s"), -9);
  EXPECT_EQ(found.at("t"), -10);
  EXPECT_EQ(found.at("n"), -10);
  EXPECT_EQ(found.at("m"), -10);
  EXPECT_EQ(found.at("k"), -12) << "the bias adds up to 2";
}

TEST(MaskedRanges, AMaskAloneThatSomethingElseReadsKeepsItsRange) {
  const auto found = lows("[add] s = Add(x, k) [softmax] p = Softmax(s) [other] y = Mul(p, k)",
                          {{"x", range(-1, 1)}, {"k", range(-1e9F, 0)}, {"s", range(-1, 1)}}, {"s"});
  EXPECT_EQ(found.at("s"), -11);
  EXPECT_EQ(found.at("k"), -1e9F);
}

}  // namespace
}  // namespace vernier::testing
