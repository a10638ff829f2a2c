#include <gtest/gtest.h>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

TEST(RaiseEpsilon, ToTheSmallestFloat16UnderARoot) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y) <float e = {1e-12}> {"
                     " [add] a = Add(x, e) [root] r = Sqrt(a) [div] y = Div(x, r) }"),
              Format::Float16);
  const auto proposals = raise_epsilons(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  Model raised = bench.model;
  proposals[0].rewrite(raised);
  EXPECT_EQ(initializer(raised, "e")->floats()[0], 0x1p-24F);
}

TEST(RaiseEpsilon, LooksBehindWhatMovesTheSum) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y) <float e = {1e-12}> {"
                     " [add] a = Add(x, e) [turn] t = Transpose(a) [div] y = Div(x, t) }"),
              Format::Float16);
  EXPECT_EQ(raise_epsilons(bench.network(), 0).at(0).why_not, "");
}

TEST(RaiseEpsilon, LeavesSmallNumbersThatProtectNothing) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y) <float e = {1e-12}> { [add] y = Add(x, e) }"),
              Format::Float16);
  EXPECT_NE(raise_epsilons(bench.network(), 0).at(0).why_not, "");
}

}  // namespace
}  // namespace vernier::testing
