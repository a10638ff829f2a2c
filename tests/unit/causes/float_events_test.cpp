#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(FloatEvents, OverflowIsWhereTheValueIsMade) {
  LayerFacts facts = layer("MatMul", Format::Float16);
  facts.inputs = {tensor("x", ramp(100))};
  facts.outputs = {tensor("y", ramp(70000))};
  facts.overflowed = 3;
  EXPECT_EQ(first_cause(facts), "overflow");
  // What arrives too large is the fault of a layer before.
  std::swap(facts.inputs, facts.outputs);
  facts.inputs[0].maker = "before";
  EXPECT_EQ(first_cause(facts), "overflow-read");
  EXPECT_NE(causes_of(facts).front().sentence.find("'before'"), std::string::npos);
}

TEST(FloatEvents, JustBelowTheLargestFloat16IsNoOverflow) {
  LayerFacts facts = layer("MatMul", Format::Float16);
  facts.inputs = {tensor("x", ramp(100))};
  facts.outputs = {tensor("y", ramp(65000))};
  EXPECT_EQ(first_cause(facts), "");
}

TEST(FloatEvents, ANormOverflowsInside) {
  LayerFacts facts = layer("LayerNormalization", Format::Float16);
  facts.inputs = {tensor("x", ramp(300))};
  facts.outputs = {tensor("y", ramp(2))};
  EXPECT_EQ(first_cause(facts), "overflow-inside");
  facts.inputs = {tensor("x", ramp(200))};
  EXPECT_EQ(first_cause(facts), "");
}

TEST(FloatEvents, SmallValuesBecomeZero) {
  LayerFacts facts = layer("Mul", Format::Float16);
  facts.inputs = {tensor("x", ramp(1e-7F))};
  facts.rounded = 1000;
  facts.flushed = 300;
  facts.subnormal = 700;
  EXPECT_EQ(first_cause(facts), "subnormal-loss");
  facts.own_noise = 1e-7;  // they do not matter
  EXPECT_EQ(first_cause(facts), "");
}

TEST(FloatEvents, WholeNumbersBeyond2048) {
  LayerFacts facts = layer("Mul", Format::Float16);
  std::vector<float> positions;
  for (int i = 1; i <= 4000; ++i) positions.push_back(static_cast<float>(i));
  facts.inputs = {tensor("positions", positions)};
  EXPECT_EQ(first_cause(facts), "large-integers");
  positions.resize(2000);
  facts.inputs = {tensor("positions", positions)};
  EXPECT_EQ(first_cause(facts), "");
}

TEST(FloatEvents, FewWholeNumbersAreKnownByTheSmallOnes) {
  LayerFacts facts = layer("MatMul", Format::Float16);
  std::vector<float> positions{3, 17, 40, 61, 90, 130, 211, 300, 700, 1500, 2900, 5990};
  facts.inputs = {tensor("positions", positions)};
  EXPECT_EQ(first_cause(facts), "large-integers");
  for (float& position : positions) position *= 1.37F;
  facts.inputs = {tensor("times", positions)};
  EXPECT_EQ(first_cause(facts), "");
}

TEST(FloatEvents, WhatMakesAnAngleOfManyTurns) {
  LayerFacts facts = layer("MatMul", Format::Float16);
  facts.inputs = {tensor("positions", ramp(1))};
  facts.outputs = {tensor("angles", ramp(6000))};
  facts.own_noise = 1e-8;
  facts.effect_noise = 0.1;
  EXPECT_EQ(first_cause(facts), "");
  facts.angle_of = "Cos";
  EXPECT_EQ(first_cause(facts), "large-phase");
}

// 40 dB are a hundredth of the angle, and that of 300 radians is half a turn.
TEST(FloatEvents, WhatIsQuantizedAndBecomesAnAngleOfManyTurns) {
  LayerFacts facts = layer("MatMul", Format::Int8);
  facts.outputs = {tensor("rates", ramp(1))};
  facts.own_noise = 1e-4;
  facts.effect_noise = 0.9;
  EXPECT_EQ(first_cause(facts), "");
  facts.angle_rms = 300;
  EXPECT_EQ(first_cause(facts), "large-phase");
  facts.angle_rms = 3;
  EXPECT_EQ(first_cause(facts), "") << "less than a turn";
  facts.angle_rms = 300;
  facts.effect_noise = 1e-4;
  EXPECT_EQ(first_cause(facts), "") << "the output is fine";
}

TEST(FloatEvents, AnAngleOfManyTurns) {
  for (const char* op_type : {"Sin", "Cos"}) {
    LayerFacts facts = layer(op_type, Format::Float16);
    facts.inputs = {tensor("phase", ramp(800))};
    EXPECT_EQ(first_cause(facts), "large-phase");
    facts.inputs = {tensor("phase", ramp(20))};
    EXPECT_EQ(first_cause(facts), "");
    facts.format = Format::BFloat16;
    EXPECT_EQ(first_cause(facts), "large-phase") << "fewer digits";
    facts.own_noise = 1e-6;
    EXPECT_EQ(first_cause(facts), "") << "few values are as large";
  }
  LayerFacts facts = layer("Tanh", Format::Float16);
  facts.inputs = {tensor("x", ramp(800))};
  EXPECT_EQ(first_cause(facts), "") << "not periodic";
}

TEST(FloatEvents, AnOverflowOfSquaresHasRewrites) {
  LayerFacts facts = layer("Pow", Format::Float16);
  facts.inputs = {tensor("x", ramp(300))};
  facts.outputs = {tensor("y", ramp(90000))};
  facts.overflowed = 3;
  facts.read_by = {"ReduceMean"};
  EXPECT_EQ(causes_of(facts).front().repairs, (std::vector<std::string>{"fuse-norm", "scale-square", "keep-high"}));
  facts.op_type = "MatMul";
  EXPECT_EQ(causes_of(facts).front().repairs, (std::vector<std::string>{"scale-stream", "keep-high"}))
      << "if it grows along a stream";
  facts.read_by = {"Div"};
  EXPECT_EQ(causes_of(facts).front().repairs, (std::vector<std::string>{"scale-attention", "keep-high"}));
  facts.op_type = "Pow";
  EXPECT_EQ(causes_of(facts).front().repairs, std::vector<std::string>{"keep-high"}) << "no cube";
  facts.inputs.push_back(tensor("three", {3}));
  EXPECT_EQ(causes_of(facts).front().repairs, (std::vector<std::string>{"fuse-gelu", "clip-cube", "keep-high"}));
}

}  // namespace
}  // namespace vernier::testing
