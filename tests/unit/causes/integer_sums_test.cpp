#include <gtest/gtest.h>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(IntegerSums, PairsOfProductsBeyond16Bits) {
  LayerFacts facts = layer("Conv", Format::UInt8);
  facts.pairs_beyond_16_bits = 0.01;
  ASSERT_EQ(first_cause(facts), "pair-saturation");
  EXPECT_LT(causes_of(facts).front().confidence, 0.5) << "CPUs differ: what is seen comes first";
  EXPECT_EQ(causes_of(facts).front().share, 0.0) << "damage is simulated with sums of 32 bits";
  facts.pairs_beyond_16_bits = 1e-5;
  EXPECT_EQ(first_cause(facts), "") << "as ordinary weights";
  facts.largest_sum = 3e9;
  EXPECT_EQ(first_cause(facts), "long-accumulation") << "sums of 32 bits";
  facts = layer("Conv", Format::Int8);
  facts.pairs_beyond_16_bits = 0.01;
  EXPECT_EQ(first_cause(facts), "") << "signed times signed has no such instruction";
}

}  // namespace
}  // namespace vernier::testing
