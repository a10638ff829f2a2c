// Every code of every format.
#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "oracle.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

using Code = std::uint32_t;

Code code_count(Format format) { return Code{1} << bits_of(format); }

std::vector<std::byte> bytes_of(Format format, Code code) {
  if (bits_of(format) == 16) return {static_cast<std::byte>(code & 0xFF), static_cast<std::byte>(code >> 8)};
  // int4 travels as a signed byte.
  if (format == Format::Int4 && code >= 8) code |= 0xF0;
  return {static_cast<std::byte>(code)};
}

float decode_one(const QuantParams& params, Code code) {
  return decode(params, 1, 1, bytes_of(params.format, code)).at(0);
}

Code encode_one(const QuantParams& params, float value) {
  const std::vector<std::byte> bytes = encode(params, 1, 1, {&value, 1});
  Code code = std::to_integer<Code>(bytes.at(0));
  if (bits_of(params.format) == 16) code |= std::to_integer<Code>(bytes.at(1)) << 8;
  return code & (code_count(params.format) - 1);
}

/// Largest positive code that is a finite number.
Code largest_code(Format format) {
  switch (format) {
    case Format::Float16:
      return 0x7BFF;
    case Format::BFloat16:
      return 0x7F7F;
    case Format::Float8E4M3FN:
      return 0x7E;
    case Format::NvFp4:
      return 7;
    default:
      return 0x7B;
  }
}

class EveryFormat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Codes, EveryFormat, testing::ValuesIn(kNarrowFormats),
                         [](const auto& suite) { return std::string(format_name(suite.param)); });

TEST_P(EveryFormat, EncodeUndoesDecode) {
  for (const float scale : {1.0f, 0.1f, 3.7e-6f}) {
    const QuantParams params = params_of(GetParam(), scale);
    for (Code code = 0; code < code_count(GetParam()); ++code) {
      const float value = decode_one(params, code);
      if (std::isfinite(value)) {
        ASSERT_EQ(encode_one(params, value), code) << value;
      }
    }
  }
}

TEST_P(EveryFormat, TheValueOfACodeStaysWhereItIs) {
  for (const float scale : {1.0f, 0.1f, 3.7e-6f}) {
    const QuantParams params = params_of(GetParam(), scale);
    for (Code code = 0; code < code_count(GetParam()); ++code) {
      const float value = decode_one(params, code);
      if (std::isfinite(value)) {
        ASSERT_EQ(bits_of_float(round_one(params, value)), bits_of_float(value)) << code;
      }
    }
  }
}

class EveryFloatFormat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Codes, EveryFloatFormat, testing::ValuesIn(kFloatFormats),
                         [](const auto& suite) { return std::string(format_name(suite.param)); });

TEST_P(EveryFloatFormat, NeighboursSplitTheirGapAndTiesGoToTheEvenCode) {
  const QuantParams params = params_of(GetParam());
  for (Code code = 0; code < largest_code(GetParam()); ++code) {
    const float low = decode_one(params, code);
    const float high = decode_one(params, code + 1);
    ASSERT_LT(low, high);
    const float middle = low + (high - low) / 2;
    ASSERT_TRUE(low < middle && middle < high);
    for (const float sign : {1.0f, -1.0f}) {
      ASSERT_EQ(round_one(params, sign * middle), sign * (code % 2 == 0 ? low : high)) << code;
      ASSERT_EQ(round_one(params, sign * std::nextafter(middle, low)), sign * low) << code;
      ASSERT_EQ(round_one(params, sign * std::nextafter(middle, high)), sign * high) << code;
    }
  }
}

TEST_P(EveryFloatFormat, CodesAboveTheLargestNumberAreInfinityOrNaN) {
  const QuantParams params = params_of(GetParam());
  const bool has_infinity = GetParam() != Format::Float8E4M3FN;
  const Code half = code_count(GetParam()) / 2;
  for (Code code = largest_code(GetParam()) + 1; code < half; ++code) {
    const bool infinity = has_infinity && code == largest_code(GetParam()) + 1;
    EXPECT_EQ(std::isinf(decode_one(params, code)), infinity) << code;
    EXPECT_EQ(std::isnan(decode_one(params, code)), !infinity) << code;
    EXPECT_TRUE(std::signbit(decode_one(params, code + half))) << code;
  }
}

TEST_P(EveryFloatFormat, NaNHasOneCodeForEachSign) {
  if (GetParam() == Format::NvFp4) GTEST_SKIP() << "E2M1 has no NaN";
  const QuantParams params = params_of(GetParam());
  const Code half = code_count(GetParam()) / 2;
  const Code nan = encode_one(params, std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(std::isnan(decode_one(params, nan)));
  EXPECT_EQ(encode_one(params, float_of_bits(0x7F800001u)), nan);
  EXPECT_EQ(encode_one(params, float_of_bits(0xFFFFFFFFu)), nan + half);
}

TEST(Codes, InfinityIsKeptIn16BitsAndSaturatesIn8) {
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(encode_one(params_of(Format::Float16), infinity), 0x7C00u);
  EXPECT_EQ(encode_one(params_of(Format::BFloat16), -infinity), 0xFF80u);
  EXPECT_EQ(encode_one(params_of(Format::Float8E4M3FN), -infinity), 0xFEu);
  EXPECT_EQ(encode_one(params_of(Format::Float8E5M2), infinity), 0x7Bu);
  EXPECT_EQ(encode_one(params_of(Format::Int8), -infinity), 0x80u);
}

class EveryIntegerFormat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Codes, EveryIntegerFormat, testing::ValuesIn(kIntegerFormats),
                         [](const auto& suite) { return std::string(format_name(suite.param)); });

TEST_P(EveryIntegerFormat, NeighboursSplitTheirGapAndTiesGoToTheEvenStep) {
  // A power of two divides without rounding, so that the middle is a true tie.
  const float scale = 0.25f;
  for (const std::int32_t zero_point : {0, 3}) {
    const QuantParams params = params_of(GetParam(), scale, zero_point);
    const auto [lowest, highest] = oracle_codes(GetParam());
    for (int code = lowest; code < highest; ++code) {
      const int step = code - zero_point;
      const float low = scale * static_cast<float>(step);
      const float high = scale * static_cast<float>(step + 1);
      const float middle = (low + high) / 2;
      ASSERT_EQ(round_one(params, middle), step % 2 == 0 ? low : high) << code;
      ASSERT_EQ(round_one(params, std::nextafter(middle, low)), low) << code;
      ASSERT_EQ(round_one(params, std::nextafter(middle, high)), high) << code;
    }
  }
}

TEST_P(EveryIntegerFormat, BeyondTheLastCodeIsClipped) {
  const QuantParams params = params_of(GetParam(), 1.0f, 2);
  const auto lowest = static_cast<float>(oracle_codes(GetParam()).lowest);
  const auto highest = static_cast<float>(oracle_codes(GetParam()).highest);
  for (const float far : {70000.0f, 3e9f, 3e38f, std::numeric_limits<float>::infinity()}) {
    EXPECT_EQ(round_one(params, far), highest - 2) << far;
    EXPECT_EQ(round_one(params, -far), lowest - 2) << far;
  }
}

}  // namespace
}  // namespace vernier::test
