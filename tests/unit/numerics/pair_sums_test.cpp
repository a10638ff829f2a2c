#include "numerics/pair_sums.h"

#include <gtest/gtest.h>

#include <vector>

#include "distributions.h"
#include "vernier/format.h"

namespace vernier {
namespace {

using testing::of_values;

const QuantParams kHundredths{Format::UInt8, {0.01F}, {0}, -1, 0, 0};

TEST(PairSums, CountsPairsThatLeave16Bits) {
  // One value in four has code 200: 200 (100 + 100) is beyond, 200 (100 + 60) is not, nor is anything of code 10.
  const Distribution data = of_values({2.0F, 0.1F, 0.1F, 0.1F});
  const std::vector<float> codes{100, 100, 100, 60, -100, -100, 100, -100};
  EXPECT_DOUBLE_EQ(pairs_beyond_16_bits(codes, {8, 1}, data, kHundredths), 0.125);
}

TEST(PairSums, NeighboursLieAlongTheSummedDimension) {
  const Distribution data = of_values({2.0F});
  // [2, 2]: columns are summed. Down them the pairs are 100 with 100 and 1 with 1.
  EXPECT_DOUBLE_EQ(pairs_beyond_16_bits(std::vector<float>{100, 1, 100, 1}, {2, 2}, data, kHundredths), 0.5);
  EXPECT_DOUBLE_EQ(pairs_beyond_16_bits(std::vector<float>{100, 1, 100, 1}, {2, 1}, data, kHundredths), 0);
}

TEST(PairSums, AZeroPointRaisesTheCodes) {
  QuantParams raised = kHundredths;
  raised.zero_point = {100};
  const std::vector<float> codes{100, 100};
  const Distribution data = of_values({0.7F});
  EXPECT_DOUBLE_EQ(pairs_beyond_16_bits(codes, {2, 1}, data, kHundredths), 0);
  EXPECT_DOUBLE_EQ(pairs_beyond_16_bits(codes, {2, 1}, data, raised), 1);
}

TEST(PairSums, TheEndsThemselvesFit) {
  const Distribution data = of_values({2.55F});
  EXPECT_DOUBLE_EQ(pairs_beyond_16_bits(std::vector<float>{127, 1}, {2, 1}, data, kHundredths), 0) << "255 * 128";
  EXPECT_DOUBLE_EQ(pairs_beyond_16_bits(std::vector<float>{127, 2}, {2, 1}, data, kHundredths), 1) << "255 * 129";
  EXPECT_EQ(pairs_beyond_16_bits(std::vector<float>{127}, {1, 1}, data, kHundredths), 0) << "no pair";
  EXPECT_EQ(pairs_beyond_16_bits(std::vector<float>{127, 127}, {2, 1}, {}, kHundredths), 0) << "no data";
}

}  // namespace
}  // namespace vernier
