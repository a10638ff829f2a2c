#include <gtest/gtest.h>

#include <cstddef>
#include <random>
#include <vector>

#include "oracle.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

std::vector<int> as_numbers(const std::vector<std::byte>& bytes) {
  std::vector<int> numbers;
  for (const std::byte byte : bytes) numbers.push_back(std::to_integer<int>(byte));
  return numbers;
}

TEST(Encode, WritesSixteenBitsLittleEndian) {
  const std::vector<float> values = {1.0f, -2.0f};
  EXPECT_EQ(as_numbers(encode(params_of(Format::Float16), 1, 2, values)), (std::vector<int>{0x00, 0x3C, 0x00, 0xC0}));
  EXPECT_EQ(as_numbers(encode(params_of(Format::BFloat16), 1, 2, values)), (std::vector<int>{0x80, 0x3F, 0x00, 0xC0}));
}

TEST(Encode, AddsTheZeroPointOfTheChannel) {
  QuantParams params;
  params.format = Format::UInt8;
  params.scale = {1.0f, 0.5f};
  params.zero_point = {10, 100};
  params.axis = 1;
  const std::vector<float> values = {0, 1, 0, 1, 2, -1, 2, -1000};
  const std::vector<std::byte> codes = encode(params, 2, 2, values);
  EXPECT_EQ(as_numbers(codes), (std::vector<int>{10, 11, 100, 102, 12, 9, 104, 0}));
  EXPECT_EQ(decode(params, 2, 2, codes), (std::vector<float>{0, 1, 0, 1, 2, -1, 2, -50}));
}

TEST(Encode, WritesInt4AsOneSignedByteEach) {
  const std::vector<float> values = {7, -8, -1};
  EXPECT_EQ(as_numbers(encode(params_of(Format::Int4), 1, 3, values)), (std::vector<int>{7, 0xF8, 0xFF}));
}

TEST(Encode, ScalesFloat8ByChannel) {
  QuantParams params;
  params.format = Format::Float8E4M3FN;
  params.scale = {1.0f, 2.0f};
  const std::vector<float> values = {448.0f, 448.0f};
  const std::vector<std::byte> codes = encode(params, 2, 1, values);
  EXPECT_EQ(as_numbers(codes), (std::vector<int>{0x7E, 0x76}));
  EXPECT_EQ(decode(params, 2, 1, codes), values);
}

TEST(Encode, KeepsTheBitsOfFloat32) {
  const std::vector<float> values = {float_of_bits(0x7F800001u), -0.0f, 1.5f};
  const std::vector<std::byte> codes = encode(params_of(Format::Float32), 1, 3, values);
  EXPECT_EQ(codes.size(), 12u);
  EXPECT_EQ(difference(values, decode(params_of(Format::Float32), 1, 3, codes)), "");
}

TEST(Encode, DecodesToWhatRoundToLeaves) {
  std::mt19937_64 random(test_seed());
  SCOPED_TRACE(test_seed());
  for (const Format format : kNarrowFormats) {
    QuantParams params = params_of(format);
    if (needs_scale(format)) params.scale = {0.01f, 1.7f, 300.0f};
    const std::vector<float> values = random_magnitudes(random, 3 * 7 * 5, -30, 20);
    std::vector<float> rounded(values.size());
    round_to(params, 3, 7, values, rounded);
    const std::vector<float> decoded = decode(params, 3, 7, encode(params, 3, 7, values));
    EXPECT_EQ(difference(rounded, decoded), "") << format_name(format);
  }
}

TEST(Decode, RefusesHalfACode) {
  const std::vector<std::byte> bytes(3);
  EXPECT_THROW(decode(params_of(Format::Float16), 1, 1, bytes), Error);
}

}  // namespace
}  // namespace vernier::test
