#include <gtest/gtest.h>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

TEST(ScaleSquare, DividesBeforeSquaring) {
  Bench bench(parsed("g (float[1,4] x) => (float[1,4] y) <float two = {2}, float e = {1e-5}> {"
                     " [sq] s = Pow(x, two) [mean] m = ReduceMean<axes = [1]>(s) [add] a = Add(m, e)"
                     " [root] r = Sqrt(a) [div] y = Div(x, r) }"),
              Format::Float16);
  bench.ranges["x"] = {-1000, 1000, 10, 0};
  const auto proposals = scale_squares(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  Model scaled = bench.model;
  proposals[0].rewrite(scaled);
  EXPECT_EQ(initializer(scaled, "sq.factor")->floats()[0], 0.125F);
  bench.ranges["x"] = {-200, 200, 10, 0};
  EXPECT_TRUE(scale_squares(bench.network(), 0).empty());
}

}  // namespace
}  // namespace vernier::testing
