#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(FloatConstants, AnEpsilonIsLostBelowHalfTheSmallestFloat16) {
  LayerFacts facts = layer("Add", Format::Float16);
  facts.epsilon = 1e-12F;
  facts.read_by = {"Sqrt"};
  EXPECT_EQ(first_cause(facts), "lost-epsilon");
  facts.epsilon = 1e-6F;
  EXPECT_EQ(first_cause(facts), "");
}

// F.normalize of vectors that are never short: the epsilon is a risk, and no reason for what was measured.
TEST(FloatConstants, AnEpsilonThatNothingComesNearIsNoReason) {
  LayerFacts facts = layer("Max", Format::Float16);
  facts.epsilon = 1e-12F;
  facts.read_by = {"Div"};
  std::vector<float> norms = ramp(5);
  for (float& norm : norms) norm = 1 + std::abs(norm);
  facts.inputs = {tensor("norm", norms)};
  const std::vector<Cause> far = causes_of(facts);
  ASSERT_EQ(far.size(), 1U);
  EXPECT_EQ(far[0].id, "lost-epsilon");
  EXPECT_LT(far[0].confidence, 0.3);
  facts.inputs = {tensor("norm", {0, 1})};
  EXPECT_GT(causes_of(facts).front().confidence, 0.7);
  facts.inputs = {tensor("norm", norms)};
  facts.own_noise = INFINITY;
  EXPECT_GT(causes_of(facts).front().confidence, 0.7) << "something is divided by zero all the same";
}

TEST(FloatConstants, AMaskIsNoOverflow) {
  LayerFacts facts = layer("Add", Format::Float16);
  TensorFacts mask = tensor("mask", {0});
  mask.constant = true;
  mask.mask = Mask{-1e9F, -1e9F, 10, 0};
  facts.inputs = {tensor("logits", ramp(5)), mask};
  facts.read_by = {"Softmax"};
  facts.overflowed = 10;
  EXPECT_EQ(first_cause(facts), "mask-constant");
  facts.inputs[1].mask->low = -1e4F;
  facts.overflowed = 0;
  EXPECT_EQ(first_cause(facts), "");
}

TEST(FloatConstants, ARowThatIsMaskedAsAWhole) {
  LayerFacts facts = layer("Softmax", Format::Float16);
  facts.inputs = {tensor("logits", ramp(5))};
  facts.inputs[0].mask = Mask{-1e9F, -1e9F, 10, 5};
  facts.own_noise = INFINITY;
  EXPECT_EQ(first_cause(facts), "all-masked-softmax");
  facts.own_noise = 1e-6;
  EXPECT_EQ(first_cause(facts), "");
}

/// Scores near 3 that a mask of -65504 is added to; some rows are fully masked.
LayerFacts masked(const char* op_type) {
  LayerFacts facts = layer(op_type, Format::Float16);
  TensorFacts mask = tensor("mask", {0});
  mask.mask = Mask{-65504, -65504, 10, 0};
  facts.inputs = {tensor("scores", ramp(3)), mask};
  facts.read_by = {"Softmax"};
  facts.masked_rows = MaskedRows{"softmax", "sum", 6, 60, 65504, 0.99};
  return facts;
}

TEST(FloatConstants, ScoresAreAbsorbedInRowsThatAMaskCovers) {
  LayerFacts facts = masked("Add");
  EXPECT_EQ(first_cause(facts), "masked-scores");
  EXPECT_NE(causes_of(facts).front().sentence.find("'mask'"), std::string::npos);
  facts.masked_rows->noise_share = 0.1;
  EXPECT_FALSE(names(facts, "masked-scores")) << "other rows are off";
  facts.masked_rows->noise_share = 0.99;
  facts.masked_rows->masked = 0;
  EXPECT_FALSE(names(facts, "masked-scores")) << "no row is masked as a whole";
}

TEST(FloatConstants, AMaskThatBecomesInfiniteAbsorbsNothing) {
  LayerFacts facts = masked("Add");
  facts.inputs[1].constant = true;
  facts.inputs[1].mask = Mask{-1e9F, -1e9F, 10, 0};
  facts.masked_rows->level = 1e9;
  facts.own_noise = INFINITY;
  EXPECT_EQ(first_cause(facts), "mask-constant");
  EXPECT_FALSE(names(facts, "masked-scores"));
  facts.format = Format::BFloat16;
  EXPECT_EQ(first_cause(facts), "masked-scores") << "which has no largest value so near";
}

TEST(FloatConstants, TheSoftmaxOfSuchRowsLosesNoSmallValues) {
  LayerFacts facts = layer("Softmax", Format::Float16);
  facts.inputs = {tensor("sum", ramp(3))};
  facts.inputs[0].mask = Mask{-65504, -65504, 10, 0};
  std::vector<float> probabilities(100, 1e-7F);
  probabilities.resize(120, 0.5F);
  facts.outputs = {tensor("p", probabilities)};
  facts.rounded = 220;
  facts.subnormal = 100;
  EXPECT_EQ(first_cause(facts), "") << "small values are not what makes an error of 20 dB";
  facts.masked_rows = MaskedRows{"layer", "sum", 6, 60, 65504, 0.99};
  EXPECT_EQ(first_cause(facts), "all-masked-softmax");
}

TEST(FloatConstants, TwoMasksThatAreAdded) {
  LayerFacts facts = layer("Add", Format::Float16);
  for (const char* name : {"causal", "padding"}) {
    TensorFacts mask = tensor(name, {0});
    mask.mask = Mask{-65504, -65504, 10, 0};
    facts.inputs.push_back(mask);
  }
  facts.outputs = {tensor("both", {0})};
  facts.outputs[0].mask = Mask{-131008, -65504, 20, 0};
  facts.own_noise = INFINITY;
  facts.overflowed = 4;
  EXPECT_EQ(first_cause(facts), "added-masks");
  facts.outputs[0].mask->low = -20000;
  EXPECT_FALSE(names(facts, "added-masks")) << "the sum fits";
}

}  // namespace
}  // namespace vernier::testing
