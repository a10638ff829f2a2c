// Every code of the narrow float formats, against their definitions written out.
#include "base/float_codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace vernier {
namespace {

/// What a code means: sign, exponent and mantissa of so many bits. `has_infinity`: the largest exponent holds infinity
/// and NaN; else only the all-ones code is NaN.
double meaning(std::uint32_t code, int exponent_bits, int mantissa_bits, bool has_infinity) {
  const double sign = code >> (exponent_bits + mantissa_bits) & 1U ? -1 : 1;
  const auto mantissa = static_cast<int>(code & ((1U << mantissa_bits) - 1U));
  const auto exponent = static_cast<int>(code >> mantissa_bits & ((1U << exponent_bits) - 1U));
  const int most = (1 << exponent_bits) - 1;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  if (exponent == most && has_infinity) {
    return sign * (mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN());
  }
  if (exponent == most && mantissa == (1 << mantissa_bits) - 1) return std::numeric_limits<double>::quiet_NaN();
  const int leading = exponent == 0 ? 0 : 1 << mantissa_bits;
  return sign * std::ldexp(leading + mantissa, std::max(exponent, 1) - bias - mantissa_bits);
}

/// Both say the same, signs of zeros included; of NaNs only that they are.
void expect_same(double got, double want, std::uint32_t code) {
  if (std::isnan(want)) {
    EXPECT_TRUE(std::isnan(got)) << code;
  } else {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(want)) << code;
  }
}

TEST(FloatCodes, EveryCodeOf16BitsMeansWhatTheFormatSaysAndComesBack) {
  for (std::uint32_t code = 0; code <= 0xFFFFU; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const float half = float16_value(bits);
    const float brain = bfloat16_value(bits);
    expect_same(static_cast<double>(half), meaning(code, 5, 10, true), code);
    expect_same(static_cast<double>(brain), meaning(code, 8, 7, true), code);
    if (!std::isnan(half)) {
      ASSERT_EQ(float16_bits(static_cast<double>(half)), bits);
    }
    if (!std::isnan(brain)) {
      ASSERT_EQ(bfloat16_bits(brain), bits);
    }
  }
}

TEST(FloatCodes, EveryCodeOf8BitsMeansWhatTheFormatSaysAndComesBack) {
  for (std::uint32_t code = 0; code <= 0xFFU; ++code) {
    const auto bits = static_cast<std::uint8_t>(code);
    const float e4m3fn = float8e4m3fn_value(bits);
    const float e5m2 = float8e5m2_value(bits);
    expect_same(static_cast<double>(e4m3fn), meaning(code, 4, 3, false), code);
    expect_same(static_cast<double>(e5m2), meaning(code, 5, 2, true), code);
    EXPECT_EQ(float8e4m3fn_bits(e4m3fn), bits);
    if (!std::isnan(e5m2)) {
      EXPECT_EQ(float8e5m2_bits(e5m2), bits);
    }
  }
  EXPECT_EQ(float8e4m3fn_value(0x7E), 448);
  EXPECT_EQ(float8e5m2_value(0x7B), 57344);
}

TEST(FloatCodes, NanIsTheQuietOneOfItsSign) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(float16_bits(static_cast<double>(kNan)), 0x7E00);
  EXPECT_EQ(float16_bits(static_cast<double>(-kNan)), 0xFE00);
  EXPECT_EQ(bfloat16_bits(std::bit_cast<float>(0x7F800001U)), 0x7FC0) << "not infinity, though its upper half is";
  EXPECT_EQ(float8e4m3fn_bits(-kNan), 0xFF);
  EXPECT_EQ(float8e5m2_bits(kNan), 0x7E);
}

TEST(FloatCodes, RoundingTo16BitsIsToTheNearestAndToEven) {
  EXPECT_EQ(float16_bits(2049.0), 0x6800);  // between 2048 and 2050: 2048 is even
  EXPECT_EQ(float16_bits(2051.0), 0x6802);  // between 2050 and 2052: 2052 is even
  EXPECT_EQ(float16_bits(65519.9), 0x7BFF);
  EXPECT_EQ(float16_bits(65520.0), 0x7C00);
  EXPECT_EQ(float16_bits(-1e300), 0xFC00);
  EXPECT_EQ(float16_bits(std::ldexp(1.0, -25)), 0x0000);
  EXPECT_EQ(float16_bits(std::ldexp(1.0000001, -25)), 0x0001);
  EXPECT_EQ(float16_bits(std::ldexp(1.9999999, -15)), 0x0400) << "the largest subnormal carries into the normal ones";
  EXPECT_EQ(float16_bits(-0.0), 0x8000);
  EXPECT_EQ(float16_bits(5e-324), 0x0000);
  EXPECT_EQ(bfloat16_bits(1.0F), 0x3F80);
  EXPECT_EQ(bfloat16_bits(std::bit_cast<float>(0x3F808000U)), 0x3F80);
  EXPECT_EQ(bfloat16_bits(std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(bfloat16_bits(std::numeric_limits<float>::max()), 0x7F80);
}

TEST(FloatCodes, NoOtherCodeIsNearerThanTheOneChosen) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 200000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(random() >> 11U), -53 - static_cast<int>(random() % 42)) * 65504;
    const std::uint16_t bits = float16_bits(value);
    const double off = std::fabs(static_cast<double>(float16_value(bits)) - value);
    const double above = std::fabs(static_cast<double>(float16_value(static_cast<std::uint16_t>(bits + 1U))) - value);
    ASSERT_LE(off, above) << value;
    if (bits == 0) continue;
    const double below = std::fabs(static_cast<double>(float16_value(static_cast<std::uint16_t>(bits - 1U))) - value);
    ASSERT_LE(off, below) << value;
    if (off == above || off == below) {
      ASSERT_EQ(bits % 2, 0) << value;
    }
  }
}

}  // namespace
}  // namespace vernier
