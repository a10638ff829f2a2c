// Which input of a residual Add is its skip branch.
#include "plan/skip_branch.h"

#include <gtest/gtest.h>

#include <string>

#include "tiny_graph.h"

namespace vernier {
namespace {

/// A residual block: `main` and `other` make the inputs of the Add, a Gemm reads its sum.
Model block(const std::string& nodes, const std::string& sum) {
  return testing::parse_model(R"(
    g (float[1,2] x) => (float[1,2] y, float[1,2] side) <float[2,2] w = {1, -2, 3, 4}> {
      [stem] s = MatMul(x, w)
      [aside] side = Relu(s)
      )" + nodes + R"(
      [add] sum = Add()" + sum +
                              R"()
      [clip] r = Relu(sum)
      [behind] y = MatMul(r, w)
    })");
}

std::optional<int> skip_of(const Model& model, std::string* reason = nullptr) {
  return skip_branch(model, testing::node_named(model, "add"), reason);
}

TEST(SkipBranch, IsTheInputThatNoWeightedOperatorMakesForTheAddAlone) {
  const Model model = block("[main] m = MatMul(s, w)", "m, s");
  EXPECT_EQ(skip_of(model), 1);
  EXPECT_EQ(skip_of(block("[main] m = MatMul(s, w)", "s, m")), 0);
}

TEST(SkipBranch, OfTwoIsTheOneThatReadsTheFork) {
  const std::string inner = "[inner] i = MatMul(s, w) [main] m = MatMul(i, w) [shortcut] c = MatMul(s, w)";
  EXPECT_EQ(skip_of(block(inner, "m, c")), 1);
  EXPECT_EQ(skip_of(block(inner, "c, m")), 0);
  // Both read the fork, or neither does: the second.
  EXPECT_EQ(skip_of(block("[main] m = MatMul(s, w) [shortcut] c = MatMul(s, w)", "m, c")), 1);
  EXPECT_EQ(
      skip_of(block("[a] i = MatMul(s, w) [b] j = MatMul(s, w) [main] m = MatMul(i, w) [shortcut] c = MatMul(j, w)",
                    "m, c")),
      1);
}

TEST(SkipBranch, SaysWhyThereIsNone) {
  std::string reason;
  EXPECT_FALSE(skip_of(block("", "s, side"), &reason));
  EXPECT_EQ(reason, "no weighted operator makes one of its inputs for it alone");
  EXPECT_FALSE(skip_of(block("[main] m = MatMul(s, w)", "m, w"), &reason));
  EXPECT_EQ(reason, "its other input is a constant");
  const Model unread = testing::parse_model(R"(
    g (float[1,2] x) => (float[1,2] sum) <float[2,2] w = {1, -2, 3, 4}> {
      [main] m = MatMul(x, w)
      [add] sum = Add(m, x)
    })");
  EXPECT_FALSE(skip_of(unread, &reason));
  EXPECT_EQ(reason, "no weighted operator reads its sum");
}

}  // namespace
}  // namespace vernier
