#include <gtest/gtest.h>

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

}  // namespace
}  // namespace vernier::testing
