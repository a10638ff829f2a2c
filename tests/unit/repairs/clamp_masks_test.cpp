#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

TEST(ClampMask, MovesTheMaskInsideTheFormat) {
  Model model = parsed(
      "g (float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -1e9, 0, 0}> { [add] a = Add(x, m) [sm] y = Softmax(a) "
      "}");
  Bench bench(std::move(model), Format::Float16);
  const auto proposals = clamp_masks(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  Model clamped = bench.model;
  proposals[0].rewrite(clamped);
  EXPECT_EQ(initializer(clamped, "m")->floats()[1], -16384.0F);
  EXPECT_EQ(initializer(clamped, "m")->floats()[0], 0.0F);
}

/// The masks that networks make of which tokens there are, and of which come later.
TEST(ClampMask, FollowsWhatTheNetworkMakesOfTheConstant) {
  const char* const made[] = {
      "[sub] k = Sub(one, open) [mul] m = Mul(k, big) [add] a = Add(x, m) [sm] y = Softmax(a)",
      "[is] closed = Equal(open, zero) [where] m = Where(closed, big, zero) [add] a = Add(x, m) [sm] y = Softmax(a)",
      "[mul] m = Mul(open, big) [up] u = Unsqueeze(m, axis) [down] d = Squeeze(u, axis) [add] a = Add(x, d)"
      " [sum] b = Add(a, d) [sm] y = Softmax(b)",
      "[mul] m = Mul(open, big) [look] closed = Equal(m, zero) [add] a = Add(x, m) [sm] y = Softmax(a)",
      "[mul] m = Mul(open, big) [cut] u, v = Split <axis = 0> (m) [add] a = Add(x, v) [sm] y = Softmax(a)"};
  for (const char* const nodes : made) {
    Bench bench(parsed(fmt::format("g (float[2,2] x, float[2,2] open) => (float[2,2] y) <float one = {{1}}, float zero"
                                   " = {{0}}, float big = {{-3.4e38}}, int64[1] axis = {{0}}> {{ {} }}",
                                   nodes)),
                Format::Float16);
    const auto proposals = clamp_masks(bench.network(), 0);
    ASSERT_EQ(proposals.size(), 1U) << nodes;
    ASSERT_EQ(proposals[0].why_not, "") << nodes;
    Model clamped = bench.model;
    proposals[0].rewrite(clamped);
    EXPECT_EQ(initializer(clamped, "big")->floats()[0], -16384.0F) << nodes;
  }
}

TEST(ClampMask, TakesWhatIsSubtracted) {
  Bench bench(parsed("g (float[2,2] x, float[2,2] k) => (float[2,2] y) <float big = {1e9}> {"
                     " [mul] m = Mul(k, big) [sub] a = Sub(x, m) [sm] y = Softmax(a) }"),
              Format::Float16);
  Model clamped = bench.model;
  clamp_masks(bench.network(), 0).at(0).rewrite(clamped);
  EXPECT_EQ(initializer(clamped, "big")->floats()[0], 16384.0F);

  Bench plain(parsed("g (float[2,2] x) => (float[2,2] y) <float big = {1e9}> {"
                     " [add] a = Add(x, big) [sm] y = Softmax(a) }"),
              Format::Float16);
  EXPECT_TRUE(clamp_masks(plain.network(), 0).empty()) << "a large number, and no mask";
}

TEST(ClampMask, TakesAMaskOfAnyShape) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y) <int64 one = {1}> {"
                     " [shape] s = Shape(x) [full] f = ConstantOfShape <value = float[1] {-3.4e38}> (s)"
                     " [later] m = Trilu <upper = 1> (f, one) [add] a = Add(x, m) [sm] y = Softmax(a) }"),
              Format::Float16);
  Model clamped = bench.model;
  clamp_masks(bench.network(), 0).at(0).rewrite(clamped);
  const auto& nodes = clamped.proto.graph().node();
  const auto full = std::ranges::find(nodes, "full", [](const onnx::NodeProto& node) { return node.name(); });
  ASSERT_NE(full, nodes.end());
  EXPECT_EQ(tensor_of(find_attribute(*full, "value")->t()).floats()[0], -16384.0F);
}

TEST(ClampMask, RefusesWhatTheNetworkGivesOut) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y, float[2,2] a) <float[2,2] m = {0, -1e9, 0, 0}> {"
                     " [add] a = Add(x, m) [sm] y = Softmax(a) }"),
              Format::Float16);
  EXPECT_NE(clamp_masks(bench.network(), 0).at(0).why_not.find("'a' is an output of the network"), std::string::npos);
}

TEST(ClampMask, RefusesAConstantThatNoSoftmaxReads) {
  Model model = parsed("g (float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -1e9, 0, 0}> { [add] y = Add(x, m) }");
  Bench bench(std::move(model), Format::Float16);
  EXPECT_NE(clamp_masks(bench.network(), 0).at(0).why_not.find("is an output of the network"), std::string::npos);
  Bench other(parsed("g (float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -1e9, 0, 0}> {"
                     " [add] a = Add(x, m) [relu] y = Relu(a) }"),
              Format::Float16);
  EXPECT_NE(clamp_masks(other.network(), 0).at(0).why_not.find("reaches layers other than a Softmax"),
            std::string::npos);
  Bench small(parsed("g (float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -1e4, 0, 0}> {"
                     " [add] a = Add(x, m) [sm] y = Softmax(a) }"),
              Format::Float16);
  EXPECT_TRUE(clamp_masks(small.network(), 0).empty());
}

}  // namespace
}  // namespace vernier::testing
