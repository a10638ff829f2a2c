// From ranges to grids: activations, weights, constants, and what shares one grid under integer kernels.
#include "plan/calibrate.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>

#include "plan/scheme.h"
#include "tiny_graph.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/precision.h"

namespace vernier {
namespace {

using testing::parse_model;

Model net() { return parse_model(testing::kTwoProducts); }

Plan planned(const Model& model, const std::vector<Layer>& layers, Format format, Target target = Target::TensorRt) {
  PrecisionOptions options;
  options.even_if_slower = true;
  options.low = {format};
  options.target = target;
  return assign_formats(model, layers, options).plan;
}

RangeStats range_of(const std::vector<float>& values) {
  RangeStats range;
  accumulate_range(values, range);
  return range;
}

TEST(Calibrate, ActivationsAreSymmetricPerTensorAndWeightsPerOutputChannel) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = planned(model, layers, Format::Int8);
  EXPECT_EQ(tensors_to_calibrate(model, layers, plan), (std::set<std::string>{"x", "c"}));
  const std::vector<Note> warnings =
      calibrate_plan(plan, model, layers, {{"x", range_of({-12.7F, 1})}, {"c", range_of({0, 254})}});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(plan.tensors.at("x").scale, std::vector<float>{12.7F / 127});
  EXPECT_EQ(plan.tensors.at("x").lowest_code, 0);  // QuantizeLinear of a typed model uses -128 too
  EXPECT_EQ(plan.tensors.at("c").scale, std::vector<float>{2});
  EXPECT_EQ(plan.tensors.at("w1").scale, (std::vector<float>{3.0F / 127, 4.0F / 127}));
  EXPECT_EQ(plan.tensors.at("w1").axis, 1);
  EXPECT_EQ(plan.tensors.at("w1").lowest_code, -127);
  EXPECT_EQ(plan.tensors.at("w2").scale, (std::vector<float>{4.0F / 127, 5.0F / 127, 6.0F / 127}));
}

TEST(Calibrate, Uint8ActivationsAreAsymmetricWithInt8Weights) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = planned(model, layers, Format::UInt8, Target::OpenVino);
  calibrate_plan(plan, model, layers, {{"x", range_of({-51, 204})}, {"c", range_of({0, 255})}});
  EXPECT_EQ(plan.tensors.at("x").format, Format::UInt8);
  EXPECT_EQ(plan.tensors.at("x").scale, std::vector<float>{1});
  EXPECT_EQ(plan.tensors.at("x").zero_point, std::vector<std::int32_t>{51});
  EXPECT_EQ(plan.tensors.at("w1").format, Format::Int8);
}

TEST(Calibrate, ValuesThatAreNotFiniteAreLeftOutOfTheRangeWithAWarning) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = planned(model, layers, Format::Int8);
  const std::vector<Note> warnings = calibrate_plan(
      plan, model, layers, {{"x", range_of({1, std::numeric_limits<float>::infinity()})}, {"c", range_of({1})}});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], (Note{"values-not-finite", {{"tensor", "x"}, {"count", 1}, {"of", 2}}}));
}

TEST(Calibrate, ATensorWithoutARangeIsAnError) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = planned(model, layers, Format::Int8);
  EXPECT_THROW(calibrate_plan(plan, model, layers, {{"x", range_of({1})}}), Error);
}

Plan on_codes(const Model& model, const std::map<std::string, RangeStats>& ranges) {
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = planned(model, layers, Format::Int8, Target::OnnxRuntime);
  std::set<std::string> asked;
  for (const auto& [tensor, range] : ranges) asked.insert(tensor);
  EXPECT_EQ(tensors_to_calibrate(model, layers, plan), asked);
  calibrate_plan(plan, model, layers, ranges);
  return plan;
}

TEST(Calibrate, ResultsBehindActivationsAreQuantizedAndCarriersShareTheirGrid) {
  const Plan plan =
      on_codes(net(), {{"x", range_of({-51, 204})}, {"b", range_of({0, 102})}, {"c", range_of({0, 255})}});
  EXPECT_EQ(plan.tensors.at("x").zero_point, std::vector<std::int32_t>{51});
  EXPECT_EQ(plan.tensors.at("b").scale, std::vector<float>{1}) << "the range of all that moves through the Reshape";
  EXPECT_EQ(plan.tensors.at("b"), plan.tensors.at("c"));
  EXPECT_FALSE(plan.tensors.contains("a")) << "the Relu belongs to the product before it";
  EXPECT_FALSE(plan.tensors.contains("y")) << "nothing reads it as codes, and the kernel gives float as well";
  EXPECT_EQ(plan.tensors.at("w1").format, Format::Int8);
}

TEST(Calibrate, ConcatSharesItsGridWithInputsThatNothingElseReads) {
  const Model model = parse_model(R"(
    g (float[1,2] x) => (float[1,4] y, float[1,2] z) {
      [one] a = LeakyRelu(x)
      [two] b = LeakyRelu(x)
      [join] c = Concat <axis = 1> (a, b)
      [use] y = LeakyRelu(c)
      [other] z = LeakyRelu(b)
    })");
  const Plan plan = on_codes(model, {{"x", range_of({0, 255})},
                                     {"a", range_of({0, 2.55F})},
                                     {"b", range_of({0, 510})},
                                     {"c", range_of({0, 510})},
                                     {"y", range_of({0, 510})},
                                     {"z", range_of({0, 510})}});
  EXPECT_EQ(plan.tensors.at("a").scale, std::vector<float>{2}) << "coarser, so that joining moves codes";
  EXPECT_EQ(plan.tensors.at("c").scale, std::vector<float>{2});
  EXPECT_EQ(plan.tensors.at("b").scale, std::vector<float>{2}) << "its own";
}

TEST(Calibrate, SigmoidAndSoftmaxHaveStepsOfOne256th) {
  const Plan plan = on_codes(parse_model("g (float[1,2] x) => (float[1,2] y) { [s] y = Sigmoid(x) }"),
                             {{"x", range_of({-1, 1})}, {"y", range_of({0.2F, 0.7F})}});
  EXPECT_EQ(plan.tensors.at("y").scale, std::vector<float>{1.0F / 256});
  EXPECT_EQ(plan.tensors.at("y").zero_point, std::vector<std::int32_t>{0});
}

TEST(Calibrate, ConstantOperandsHaveTheGridOfTheirOwnValues) {
  const Plan plan =
      on_codes(parse_model("g (float[2] x) => (float[2] y) <float[2] k = {-51, 204}> { [add] y = Add(x, k) }"),
               {{"x", range_of({-1, 1})}, {"y", range_of({-52, 205})}});
  EXPECT_EQ(plan.tensors.at("k").format, Format::UInt8);
  EXPECT_EQ(plan.tensors.at("k").scale, std::vector<float>{1});
  EXPECT_EQ(plan.tensors.at("k").zero_point, std::vector<std::int32_t>{51});
}

/// Lowest value of the grid of `tensor` where x reaches from -1 to 1 and y, whose masked values were left out, too.
float lowest_of(const std::string& graph, const std::string& tensor) {
  const Model model = parse_model(graph);
  const std::map<std::string, RangeStats> all{
      {"x", range_of({-1, 1})}, {"m", range_of({-1e9F, 0})}, {"y", range_of({-1, 1})}, {"z", range_of({-1e9F, 1})}};
  const std::vector<Layer> layers = find_layers(model);
  std::map<std::string, RangeStats> seen;
  for (const std::string& name :
       tensors_to_calibrate(model, layers, planned(model, layers, Format::Int8, Target::OnnxRuntime))) {
    seen[name] = all.at(name);
  }
  const QuantParams grid = on_codes(model, seen).tensors.at(tensor);
  return -grid.scale.front() * static_cast<float>(grid.zero_point.front());
}

TEST(Calibrate, WhatAMaskAddsEndsWhereTheSumDoes) {
  const std::string inputs = "g (float[2] x) => (float[2] y) <float[2] k = {-1e9, 0}> ";
  // Beyond y's -1 less x's 1, and as much farther as y is wide.
  EXPECT_NEAR(lowest_of(inputs + "{ [add] y = Add(x, k) }", "k"), -4, 0.02);
  EXPECT_NEAR(lowest_of(inputs + "{ [add] y = Add(k, x) }", "k"), -4, 0.02);
  EXPECT_NEAR(lowest_of(inputs + "{ [mask] m = Mul(x, k)\n [add] y = Add(x, m) }", "m"), -4, 0.02)
      << "a mask that the network makes";
}

TEST(Calibrate, WhatIsReadElsewhereKeepsItsRange) {
  const std::string inputs = "g (float[2] x) => (float[2] y, float[2] z) <float[2] k = {-1e9, 0}> ";
  EXPECT_LT(lowest_of(inputs + "{ [add] y = Add(x, k)\n [other] z = Mul(x, k) }", "k"), -9e8F);
  EXPECT_LT(lowest_of("g (float[2] x) => (float[2] y, float[2] m) <float[2] k = {-1e9, 0}> "
                      "{ [mask] m = Mul(x, k)\n [add] y = Add(x, m) }",
                      "m"),
            -9e8F)
      << "an output of the network";
}

TEST(Calibrate, WeightStepsGrowWhereABiasWouldNotFitInto32Bits) {
  const Model model = parse_model(
      "g (float[1,1,1,1] x) => (float[1,2,1,1] y) <float[2,1,1,1] w = {127, 0.00001}, float[2] b = {1, 1000}> "
      "{ [conv] y = Conv(x, w, b) }");
  const Plan plan = on_codes(model, {{"x", range_of({0, 255})}, {"y", range_of({0, 1})}});
  EXPECT_EQ(plan.tensors.at("w").scale[0], 1.0F);
  EXPECT_EQ(plan.tensors.at("w").scale[1], 1000.0F / 1073741824.0F) << "2^30 steps hold the bias";
}

}  // namespace
}  // namespace vernier
