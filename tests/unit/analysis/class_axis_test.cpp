// Along which axis classes lie: heads as exporters write them.
#include "analysis/class_axis.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "analysis/requirement.h"
#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::bell;
using testing::model_of;

std::optional<int> axis_of(const std::string& graph, const std::string& output = "y",
                           const testing::NamedTensors& weights = {}, int opset = 17) {
  const auto axes = class_axes(model_of(graph, weights, opset), {output});
  const auto found = axes.find(output);
  return found == axes.end() ? std::nullopt : std::optional(found->second.axis);
}

const testing::NamedTensors kConv{{"w", bell({5, 3, 1, 1}, 1)}};

TEST(ClassAxis, IsThatOfTheSoftmaxThatMadeTheOutput) {
  EXPECT_EQ(axis_of("g (float[2,5,4,6] x) => (float[2,5,4,6] y) { y = Softmax <axis = 1> (x) }"), 1);
  EXPECT_EQ(axis_of("g (float[2,5,4,6] x) => (float[2,5,4,6] y) { y = LogSoftmax <axis = -1> (x) }"), 3);
}

TEST(ClassAxis, IsThatOfTheArgMaxThatReadsTheOutput) {
  EXPECT_EQ(axis_of("g (float[1,3,4,6] x) => (float[1,5,4,6] y, int64[1,4,6] l)"
                    "{ y = Conv (x, w) l = ArgMax <axis = 1, keepdims = 0> (y) }",
                    "y", kConv),
            1);
  // What it says counts more than the layout of the convolution.
  EXPECT_EQ(axis_of("g (float[1,3,4,6] x) => (float[1,5,4,6] y, int64[1,5,4] l)"
                    "{ y = Conv (x, w) l = ArgMax <axis = -1, keepdims = 0> (y) }",
                    "y", kConv),
            3);
}

TEST(ClassAxis, IsTheChannelsOfAConvolution) {
  EXPECT_EQ(axis_of("g (float[1,3,4,6] x) => (float[1,5,4,6] y) { y = Conv (x, w) }", "y", kConv), 1);
  EXPECT_EQ(axis_of("g (float[1,3,4,6] x) => (float[1,5,8,12] y) <float[4] s = {1., 1., 2., 2.}>"
                    "{ c = Conv (x, w) y = Resize (c, r, s) }",
                    "y", {kConv[0], {"r", Tensor::of({0}, std::vector<float>{})}}),
            1);
}

TEST(ClassAxis, GoesWithATransposeAndAReshape) {
  EXPECT_EQ(axis_of("g (float[1,3,4,6] x) => (float[1,4,6,5] y)"
                    "{ c = Conv (x, w) y = Transpose <perm = [0, 2, 3, 1]> (c) }",
                    "y", kConv),
            3);
  EXPECT_EQ(axis_of("g (float[1,3,4,6] x) => (float[1,5,24] y) <int64[3] s = {1, 5, 24}>"
                    "{ c = Conv (x, w) y = Reshape (c, s) }",
                    "y", kConv),
            1);
  EXPECT_EQ(axis_of("g (float[1,3,4,6] x) => (float[1,120] y) { c = Conv (x, w) y = Flatten (c) }", "y", kConv),
            std::nullopt);
}

TEST(ClassAxis, IsTheLastOfAMatMul) {
  EXPECT_EQ(axis_of("g (float[1,7,3] x) => (float[1,7,5] y) { y = MatMul (x, w) }", "y", {{"w", bell({3, 5}, 1)}}), 2);
}

TEST(ClassAxis, OfAnOldSoftmaxIsKnownWhereItIsAlone) {
  EXPECT_EQ(axis_of("g (float[2,5,1,1] x) => (float[2,5,1,1] y) { y = Softmax <axis = 1> (x) }", "y", {}, 11), 1);
  EXPECT_EQ(axis_of("g (float[2,5,4,6] x) => (float[2,5,4,6] y) { y = Softmax <axis = 1> (x) }", "y", {}, 11),
            std::nullopt);
}

TEST(ClassAxis, IsNotGuessedBehindWhatMixesAxes) {
  EXPECT_EQ(axis_of("g (float[1,5,4,6] x) => (float[1,5,4,1] y) <int64[1] a = {3}>"
                    "{ s = Softmax <axis = 3> (x) y = ReduceSum (s, a) }"),
            std::nullopt);
}

TEST(ClassAxis, IsWhatTheUserSays) {
  const Model model = model_of("g (float[1,3,4,6] x) => (float[1,5,4,6] y) { y = Conv (x, w) }", kConv);
  EXPECT_EQ(class_axes(model, {"y"}, {{"", -1}}).at("y").axis, 3);
  EXPECT_EQ(class_axes(model, {"y"}, {{"y", 2}}).at("y").said_by, "‹top1-axis›");
  EXPECT_THROW(class_axes(model, {"y"}, {{"", 4}}), Error);
  EXPECT_THROW(class_axes(model, {"y"}, {{"z", 1}}), Error);
}

TEST(ClassAxis, RowsLieAlongIt) {
  // Two classes of two pixels: the second pixel changes its class, and the larger pixel of each class stays.
  const Tensor ref = Tensor::of({1, 2, 2}, std::vector<float>{5, 4, 1, 3});
  const Tensor got = Tensor::of({1, 2, 2}, std::vector<float>{5, 3, 1, 4});
  OutputStats last;
  last.add_sample(0, ref, got);
  EXPECT_EQ(last.rows, 2);
  EXPECT_EQ(last.rows_agreed, 2);
  OutputStats classes;
  classes.class_axis = 1;
  classes.add_sample(0, ref, got);
  EXPECT_EQ(classes.rows, 2);
  EXPECT_EQ(classes.rows_agreed, 1);
  EXPECT_FALSE(classes.along_last);
}

}  // namespace
}  // namespace vernier
