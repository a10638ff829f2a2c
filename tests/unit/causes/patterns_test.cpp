#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(Patterns, ProbabilitiesBelowAStep) {
  LayerFacts facts = layer("MatMul", Format::Int8);
  std::vector<float> probabilities(990, 1e-3F);
  probabilities.resize(1000, 0.9F);
  facts.inputs = {on_grid(tensor("p", probabilities), 0.9F)};
  facts.made_by = {"Softmax"};
  facts.own_noise = 1e-3;
  const std::vector<Cause> causes = causes_of(facts);
  EXPECT_TRUE(std::ranges::any_of(causes, [](const Cause& c) { return c.id == "attention-probabilities"; }));
  facts.inputs[0].grid->scale = {1e-3F};
  EXPECT_FALSE(names(facts, "attention-probabilities")) << "the step of its own scale";
  facts.format = Format::Float8E4M3FN;
  facts.inputs[0].grid = QuantParams{Format::Float8E4M3FN, {0.9F / 448}, {}, -1, 0, 0};
  EXPECT_FALSE(names(facts, "attention-probabilities")) << "floats have smaller steps there";
  facts.inputs = {on_grid(tensor("p", probabilities), 0.9F)};
  facts.format = Format::Int8;
  ASSERT_TRUE(names(facts, "attention-probabilities"));
  facts.made_by = {"Relu"};
  for (const Cause& cause : causes_of(facts)) EXPECT_NE(cause.id, "attention-probabilities");
}

TEST(Patterns, ARangeIsNoCureForSumsInFloats) {
  LayerFacts facts = layer("Add", Format::Float8E4M3FN);
  facts.inputs = {tensor("large", ramp(90)), tensor("small", ramp(1))};
  const std::vector<Cause> causes = causes_of(facts);
  const auto found = std::ranges::find(causes, "residual-scales", &Cause::id);
  ASSERT_NE(found, causes.end());
  EXPECT_EQ(found->repairs, std::vector<std::string>{"keep-high"});
}

TEST(Patterns, BranchesOfAnAddOfVeryDifferentSize) {
  LayerFacts facts = layer("Add", Format::Int8);
  facts.inputs = {tensor("large", ramp(90)), tensor("small", ramp(1))};
  const std::vector<Cause> causes = causes_of(facts);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes.front().id, "residual-scales");
  EXPECT_EQ(causes.front().tensor, "small");
  facts.inputs[1] = on_grid(tensor("small", ramp(1)), 1);
  EXPECT_FALSE(names(facts, "residual-scales")) << "each branch has a scale of its own";
  facts.inputs[1] = tensor("small", ramp(12));
  EXPECT_EQ(first_cause(facts), "") << "seven times";
  facts.inputs[1] = tensor("small", ramp(1));
  facts.inputs[0].mask = Mask{};
  EXPECT_FALSE(names(facts, "residual-scales")) << "a mask, of which the range takes no notice";
  facts.inputs[0].mask.reset();
  facts.op_type = "Mul";
  EXPECT_EQ(first_cause(facts), "") << "factors have their own sizes";
}

TEST(Patterns, AGateOfAFeatureMap) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(1)), 1));
  facts.channels = 16;
  facts.gates = true;
  EXPECT_EQ(first_cause(facts), "gating");
  facts.gates = false;
  EXPECT_EQ(first_cause(facts), "");
  facts.gates = true;
  facts.format = Format::Float16;
  EXPECT_EQ(first_cause(facts), "") << "no grid";
}

TEST(Patterns, ADepthwiseConvolutionIsNamedBehindWhatIsSurer) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(1)), 1));
  facts.depthwise = true;
  facts.terms = 9;
  EXPECT_EQ(first_cause(facts), "depthwise");
  facts.own_noise = 1e-3;
  EXPECT_EQ(first_cause(facts), "") << "30 dB is what others give";
  facts.own_noise = 1e-2;
  TensorFacts weight = tensor("w", ramp(1));
  weight.channels = {1, 0.5F, 0.005F};
  LayerFacts spread = with_weight(weight, 1);
  spread.depthwise = true;
  ASSERT_TRUE(names(spread, "depthwise"));
  EXPECT_EQ(first_cause(spread), "weight-channel-spread");
}

TEST(Patterns, TheEndsOfTheNetwork) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(1)), 1));
  facts.last = true;
  EXPECT_EQ(first_cause(facts), "first-or-last-layer");
  facts.own_noise = 5e-4;
  EXPECT_EQ(first_cause(facts), "");
  facts.own_noise = 1e-2;
  facts.inputs = {on_grid(tensor("x", ramp(1)), 0.5F)};
  EXPECT_EQ(first_cause(facts), "over-saturation") << "its place is the last reason";
}

TEST(Patterns, ABatchNormalizationThatIsNotFolded) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(1)), 1));
  facts.outputs = {on_grid(tensor("y", ramp(1)), 1)};
  facts.norm_spread = 30;
  EXPECT_EQ(first_cause(facts), "unfolded-batch-norm");
  facts.norm_spread = 3;
  EXPECT_EQ(first_cause(facts), "") << "channels of like size do with one step";
  facts.norm_spread = 30;
  facts.outputs = {tensor("y", ramp(1))};
  EXPECT_EQ(first_cause(facts), "") << "nothing is rounded between the two";
}

}  // namespace
}  // namespace vernier::testing
