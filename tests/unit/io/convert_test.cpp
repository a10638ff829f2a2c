#include "io/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/elements.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

TEST(Float16, EveryCodeSurvivesTheRoundTrip) {
  for (std::uint32_t code = 0; code <= 0xFFFF; ++code) {
    const auto bits = static_cast<std::uint16_t>(code);
    const float value = float16_value(bits);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(float16_value(float16_bits(static_cast<double>(value)))));
    } else {
      ASSERT_EQ(float16_bits(static_cast<double>(value)), bits);
    }
  }
}

TEST(Float16, RoundsTiesToEvenAndOverflowsToInfinity) {
  EXPECT_EQ(float16_bits(2049.0), 0x6800);  // between 2048 and 2050: 2048 is even
  EXPECT_EQ(float16_bits(2051.0), 0x6802);  // between 2050 and 2052: 2052 is even
  EXPECT_EQ(float16_bits(65519.9), 0x7BFF);
  EXPECT_EQ(float16_bits(65520.0), 0x7C00);
  EXPECT_EQ(float16_bits(std::ldexp(1.0, -25)), 0x0000);
  EXPECT_EQ(float16_bits(std::ldexp(1.0000001, -25)), 0x0001);
  EXPECT_EQ(float16_bits(-0.0), 0x8000);
}

TEST(BFloat16, RoundsTiesToEven) {
  EXPECT_EQ(bfloat16_bits(1.0F), 0x3F80);
  EXPECT_EQ(bfloat16_bits(std::bit_cast<float>(0x3F808000U)), 0x3F80);
  EXPECT_EQ(bfloat16_bits(std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(bfloat16_bits(std::numeric_limits<float>::max()), 0x7F80);
  EXPECT_EQ(bfloat16_bits(std::bit_cast<float>(0x7F800001U)) & 0x7FFF, 0x7FC0);
}

template <class T>
Tensor tensor_of(Dtype dtype, std::initializer_list<T> values) {
  Tensor tensor(dtype, {static_cast<std::int64_t>(values.size())});
  std::memcpy(tensor.mutable_bytes().data(), values.begin(), values.size() * sizeof(T));
  return tensor;
}

TEST(Convert, WidensAndNarrowsTheListedTypes) {
  EXPECT_EQ(convert(tensor_of<double>(Dtype::Float64, {0.1}), Dtype::Float32, "f").floats()[0], 0.1F);
  EXPECT_EQ(convert(tensor_of<std::uint16_t>(Dtype::Float16, {0x3E00}), Dtype::Float32, "f").floats()[0], 1.5F);
  EXPECT_EQ(convert(tensor_of<std::uint8_t>(Dtype::UInt8, {255}), Dtype::Float32, "f").floats()[0], 255.0F);
  EXPECT_EQ(convert(tensor_of<std::int32_t>(Dtype::Int32, {-7}), Dtype::Int64, "f").int64s()[0], -7);
  const Tensor narrow = convert(tensor_of<std::int64_t>(Dtype::Int64, {-7}), Dtype::Int32, "f");
  std::int32_t value = 0;
  std::memcpy(&value, narrow.bytes().data(), sizeof(value));
  EXPECT_EQ(value, -7);
}

TEST(Convert, RefusesAnInt64ThatDoesNotFit) {
  EXPECT_THROW(convert(tensor_of<std::int64_t>(Dtype::Int64, {std::int64_t{1} << 31}), Dtype::Int32, "f"), Error);
}

TEST(Convert, ALargeFloat64BecomesInfinityForTheFiniteCheckToFind) {
  EXPECT_TRUE(std::isinf(convert(tensor_of<double>(Dtype::Float64, {-1e300}), Dtype::Float32, "f").floats()[0]));
}

TEST(Convert, LosslessPairsOnly) {
  EXPECT_FALSE(convertible(Dtype::Float32, Dtype::Float16));
  EXPECT_FALSE(convertible(Dtype::Int64, Dtype::Float32));
  EXPECT_FALSE(convertible(Dtype::Int8, Dtype::UInt8));
}

}  // namespace
}  // namespace vernier
