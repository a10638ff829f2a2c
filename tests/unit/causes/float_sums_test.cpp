#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(FloatSums, AbsorptionIsNotOverflow) {
  LayerFacts facts = layer("Add", Format::Float16);
  facts.inputs = {tensor("x", ramp(1)), tensor("c", std::vector<float>(10, 65000.0F))};
  facts.outputs = {tensor("y", std::vector<float>(10, 65000.5F))};
  facts.output_rms = 65000;
  facts.own_noise = std::pow(0.5 / 65000, 2);
  EXPECT_EQ(first_cause(facts), "absorption");
  // Near 2 the same sum keeps nearly all of x.
  facts.inputs[1] = tensor("c", std::vector<float>(10, 2.0F));
  facts.output_rms = 2;
  facts.own_noise = std::pow(5e-4 / 2, 2);
  EXPECT_EQ(first_cause(facts), "");
}

// A bias of an output: the sum rounds like any other, and nothing subtracts the large part again.
TEST(FloatSums, APartOfASmallOperandIsTheUsualRounding) {
  LayerFacts facts = layer("Add", Format::BFloat16);
  facts.inputs = {tensor("bias", std::vector<float>(10, 0.08F)), tensor("product", std::vector<float>(10, 8.0F))};
  facts.output_rms = 8.08;
  facts.own_noise = std::pow(0.016 / 8.08, 2);
  EXPECT_FALSE(names(facts, "absorption"));
  facts.cancelled = CancelledBehind{"difference", 8, 0.08, 100, {}};
  EXPECT_TRUE(names(facts, "absorption"));
}

TEST(FloatSums, ASumThatOverflowsIsNoAbsorption) {
  LayerFacts facts = layer("Add", Format::Float16);
  facts.inputs = {tensor("a", std::vector<float>(10, 45000.0F)), tensor("b", std::vector<float>(10, 45100.0F))};
  facts.outputs = {tensor("y", std::vector<float>(10, 90100.0F))};
  facts.output_rms = 90100;
  facts.own_noise = INFINITY;
  facts.overflowed = 10;
  EXPECT_EQ(first_cause(facts), "overflow");
  EXPECT_FALSE(names(facts, "absorption"));
  // A difference that overflows is no cancellation.
  facts.op_type = "Sub";
  facts.output_rms = 1;
  EXPECT_FALSE(names(facts, "cancellation"));
}

TEST(FloatSums, EqualOperandsAbsorbNothing) {
  LayerFacts facts = layer("Add", Format::BFloat16);
  facts.inputs = {tensor("a", std::vector<float>(10, 3.0F)), tensor("b", std::vector<float>(10, 3.1F))};
  facts.output_rms = 6.1;
  facts.own_noise = 0.01;
  EXPECT_FALSE(names(facts, "absorption"));
}

TEST(FloatSums, ANormTakesALargeMeanOff) {
  for (const char* op_type : {"LayerNormalization", "InstanceNormalization", "BatchNormalization"}) {
    LayerFacts facts = layer(op_type, Format::Float16);
    facts.inputs = {tensor("x", ramp(100))};
    facts.outputs = {tensor("y", ramp(2))};
    facts.mean = MeanTakenOff{"layer", op_type, "x", 60, 0.1, 600};
    facts.own_noise = 0.02;
    EXPECT_EQ(first_cause(facts), "large-mean");
    facts.mean->factor = 3;
    EXPECT_EQ(first_cause(facts), "") << "the mean is small";
    facts.mean->factor = 600;
    facts.own_noise = 1e-7;
    EXPECT_EQ(first_cause(facts), "") << "it does no harm";
  }
  // What makes the tensor has no error of its own, and does the damage.
  LayerFacts facts = layer("Conv", Format::Float16);
  facts.mean = MeanTakenOff{"norm", "InstanceNormalization", "c", 60, 0.1, 600};
  facts.own_noise = 1e-8;
  facts.effect_noise = 0.02;
  EXPECT_EQ(first_cause(facts), "large-mean");
  facts.effect_noise = 1e-8;
  EXPECT_EQ(first_cause(facts), "");
}

TEST(FloatSums, CancellationIsWhereLargeOperandsNearlyAgree) {
  LayerFacts facts = layer("Sub", Format::Float16);
  facts.inputs = {tensor("a", std::vector<float>(10, 1000.0F)), tensor("b", std::vector<float>(10, 999.0F))};
  facts.output_rms = 1;
  facts.own_noise = 0.05;
  EXPECT_EQ(first_cause(facts), "cancellation");
  facts.inputs[1] = tensor("b", std::vector<float>(10, 900.0F));
  facts.output_rms = 100;
  facts.own_noise = 1e-6;
  EXPECT_EQ(first_cause(facts), "");
  facts.effect_noise = 1e-4;
  EXPECT_EQ(first_cause(facts), "cancellation") << "19 times, and the network's output suffers";
  facts.output_rms = 300;
  EXPECT_EQ(first_cause(facts), "") << "6 times: another layer's doing";
}

TEST(FloatSums, CancellationBehindAQuantizedProduct) {
  LayerFacts facts = layer("MatMul", Format::Int8);
  facts.cancelled = CancelledBehind{"distance", 4000, 60, 130, "x"};
  facts.own_noise = 1e-6;
  facts.effect_noise = 1e-3;
  ASSERT_EQ(first_cause(facts), "cancellation");
  EXPECT_NE(causes_of(facts).front().sentence.find("Subtract the mean of x from x and from c first"),
            std::string::npos);
  facts.effect_noise = 5e-6;
  EXPECT_EQ(first_cause(facts), "") << "what is left is hardly worse than the product";
  facts.effect_noise = 1e-3;
  facts.cancelled->factor = 5;
  EXPECT_EQ(first_cause(facts), "");
}

TEST(FloatSums, SumsOfManyProductsInFloat16) {
  LayerFacts facts = layer("MatMul", Format::Float16);
  facts.terms = 4096;
  ASSERT_EQ(first_cause(facts), "long-accumulation");
  EXPECT_LT(causes_of(facts).front().confidence, 0.5) << "engines differ: what is seen comes first";
  facts.terms = 4095;
  EXPECT_EQ(first_cause(facts), "");
  // Nearly equal operands lose digits in a sum of two.
  facts = layer("Sub", Format::Float16);
  facts.inputs = {tensor("a", std::vector<float>(10, 1000.0F)), tensor("b", std::vector<float>(10, 999.0F))};
  facts.terms = 4096;
  EXPECT_EQ(first_cause(facts), "cancellation");
}

TEST(FloatSums, SumsOfCodesBeyond32Bits) {
  LayerFacts facts = layer("MatMul", Format::Int8);
  facts.terms = 200000;
  facts.largest_sum = 3e9;
  EXPECT_EQ(first_cause(facts), "long-accumulation");
  facts.largest_sum = 2e9;
  EXPECT_EQ(first_cause(facts), "") << "as many products of smaller weights";
  facts = layer("MatMul", Format::Float8E4M3FN);
  facts.terms = 4096;
  EXPECT_EQ(first_cause(facts), "") << "sums of float8 are float32";
}

}  // namespace
}  // namespace vernier::testing
