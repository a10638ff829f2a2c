#include "numerics/pair_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

#include "distributions.h"
#include "vernier/format.h"

namespace vernier {
namespace {

using test::of_values;

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

/// As the instruction is defined, pair by pair.
std::int64_t sum_in_16_bits(std::span<const std::int8_t> weights, std::span<const std::uint8_t> data) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < weights.size(); i += 2) {
    int pair = weights[i] * data[i];
    if (i + 1 < weights.size()) pair += weights[i + 1] * data[i + 1];
    sum += std::max(-32768, std::min(32767, pair));
  }
  return sum;
}

TEST(PairSums, AddsWhatSaturationTakes) {
  std::mt19937 random(5);
  for (const std::size_t terms : {1, 2, 7, 64}) {
    std::vector<std::int8_t> weights(3 * terms);
    std::vector<std::uint8_t> data(terms);
    for (std::int8_t& weight : weights) weight = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
    for (std::uint8_t& value : data) value = static_cast<std::uint8_t>(random() % 256);
    const PairSums sums(weights, 3, terms);
    for (std::size_t output = 0; output < 3; ++output) {
      const auto row = std::span<const std::int8_t>(weights).subspan(output * terms, terms);
      std::int64_t exact = 0;
      for (std::size_t i = 0; i < terms; ++i) exact += row[i] * data[i];
      std::int64_t saturated = 0;
      EXPECT_EQ(exact + sums.excess(output, data, saturated), sum_in_16_bits(row, data));
      EXPECT_TRUE(saturated > 0 || exact == sum_in_16_bits(row, data));
    }
  }
}

TEST(PairSums, WeightsIn7BitsNeverSaturate) {
  const std::vector<std::int8_t> weights{64, 64, -64, -64, 63, -63};
  EXPECT_FALSE(PairSums(weights, 1, 6).may_saturate());
  EXPECT_TRUE(PairSums(std::vector<std::int8_t>{65, 64}, 1, 2).may_saturate());
  EXPECT_TRUE(PairSums(std::vector<std::int8_t>{-65, -64}, 1, 2).may_saturate());
  EXPECT_FALSE(PairSums(std::vector<std::int8_t>{127, -128}, 1, 2).may_saturate()) << "of unlike signs";
  EXPECT_FALSE(PairSums(std::vector<std::int8_t>{1, 127, 127}, 1, 3).may_saturate()) << "neighbours from the first on";
}

}  // namespace
}  // namespace vernier
