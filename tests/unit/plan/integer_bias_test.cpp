// Biases as 32-bit multiples of input step times weight step.
#include "plan/integer_bias.h"

#include <gtest/gtest.h>

#include <string>

#include "tiny_graph.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::node_named;
using testing::params_of;
using testing::parse_model;
using testing::plan_of;

std::optional<IntegerBias> bias_of(const std::string& graph, float input_scale, const std::vector<float>& scales) {
  const Model model = parse_model(graph);
  return integer_bias(
      model, node_named(model, "layer"), Format::UInt8,
      plan_of({}, {{"x", params_of(Format::UInt8, {input_scale})}, {"w", params_of(Format::Int8, scales, 0)}}));
}

const char* const kConv =
    "g (float[1,1,1,1] x) => (float[1,2,1,1] y) <float[2,1,1,1] w = {1, 1}, float[2] b = {1, -3}> "
    "{ [layer] y = Conv(x, w, b) }";

TEST(IntegerBias, HasTheProductOfBothStepsForEachChannel) {
  const auto bias = bias_of(kConv, 0.5F, {0.25F, 2});
  ASSERT_TRUE(bias.has_value());
  EXPECT_EQ(bias->input, 2);
  EXPECT_EQ(bias->scales, (std::vector<float>{0.125F, 1}));
}

TEST(IntegerBias, StaysFloatWhereAMultipleWouldNotFitOrAStepIsTooSmall) {
  EXPECT_FALSE(bias_of(kConv, 1e-6F, {1e-6F, 1}).has_value());
  EXPECT_FALSE(bias_of(kConv, 1e-20F, {1e-20F, 1}).has_value());
  EXPECT_TRUE(bias_of(kConv, 1e-6F, {1, 1}).has_value());
}

TEST(IntegerBias, AsksForWeightStepsThatLetItFit) {
  const Model model = parse_model(
      "g (float[1,1,1,1] x) => (float[1,2,1,1] y) <float[2,1,1,1] w = {1, 1}, float[2] b = {4, -1}> "
      "{ [layer] y = Conv(x, w, b) }");
  const onnx::NodeProto& layer = node_named(model, "layer");
  // |b| / (input step 2^30), of each channel or of the largest.
  EXPECT_EQ(least_weight_scales(model, layer, 0.5F, 2), (std::vector<float>{0x1p-27F, 0x1p-29F}));
  EXPECT_EQ(least_weight_scales(model, layer, 0.5F, 1), (std::vector<float>{0x1p-27F}));
}

TEST(IntegerBias, StaysFloatInAGemmThatScalesItsSums) {
  const auto gemm = [](const std::string& attributes) {
    return bias_of(
        "g (float[1,1] x) => (float[1,2] y) <float[1,2] w = {1, 1}, float[2] b = {1, 1}> { [layer] y = Gemm" +
            attributes + "(x, w, b) }",
        1, {1});
  };
  EXPECT_TRUE(gemm("").has_value());
  EXPECT_FALSE(gemm(" <alpha = 0.5> ").has_value());
  EXPECT_FALSE(gemm(" <beta = 0.5> ").has_value());
}

TEST(IntegerBias, IsRoundedToTheNearestMultipleTiesToEven) {
  const Tensor bias = Tensor::of({4}, std::vector<float>{0.26F, 0.25F, -0.75F, 1000});
  EXPECT_EQ(bias_codes(bias, {0.5F}), (std::vector<std::int32_t>{1, 0, -2, 2000}));
  const Tensor rounded = rounded_bias(bias, {0.5F});
  EXPECT_EQ(std::vector<float>(rounded.floats().begin(), rounded.floats().end()),
            (std::vector<float>{0.5F, 0, -1, 1000}));
}

}  // namespace
}  // namespace vernier
