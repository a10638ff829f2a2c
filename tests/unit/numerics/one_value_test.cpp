// The arithmetic that GPUs share (one_value.h) against the SIMD code that the CPU runs: equal bits and equal events.
#include "numerics/one_value.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "numerics/grid.h"
#include "numerics/round.h"
#include "numerics/tensor_cores.h"
#include "numerics/tensor_grid.h"
#include "oracle.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

constexpr std::size_t kChunk = std::size_t{1} << 16U;

std::vector<QuantParams> grids() {
  std::vector<QuantParams> all{QuantParams{}};
  for (const Format format : {Format::Float16, Format::BFloat16}) all.push_back(params_of(format));
  for (const float scale : {1.0f, 0.037f, 0x1p-100f, 3e30f}) {
    for (const Format format : {Format::Float8E4M3FN, Format::Float8E5M2, Format::Int8, Format::Int4}) {
      all.push_back(params_of(format, scale));
    }
    for (const std::int32_t zero : {0, 3, 128, 255}) all.push_back(params_of(Format::UInt8, scale, zero));
    all.push_back(params_of(Format::Int8, scale));
    all.back().lowest_code = -127;
  }
  return all;
}

/// Empty where bits and events agree.
std::string compare(const QuantParams& params, const std::vector<float>& values) {
  std::vector<float> expected(values.size()), got(values.size());
  RoundEvents expected_events, events;
  round_to_counting(params, 1, static_cast<std::int64_t>(values.size()), values, expected, expected_events);
  const ValueGrid grid = value_grid(params);
  const float scale = params.scale.empty() ? 1.0f : params.scale.front();
  const float zero = params.zero_point.empty() ? 0.0f : static_cast<float>(params.zero_point.front());
  ValueEvents seen;
  for (std::size_t i = 0; i < values.size(); ++i) got[i] = round_value(grid, values[i], scale, zero, &seen);
  events.count = static_cast<std::int64_t>(values.size());
  events.saturated = seen.saturated;
  events.overflowed = seen.overflowed;
  events.subnormal = seen.subnormal;
  events.flushed = seen.flushed;
  events.nan = seen.nan;
  if (events != expected_events) return "other events";
  return difference(expected, got);
}

TEST(OneValue, RoundsRandomFloatsLikeTheVectors) {
  std::mt19937_64 random(test_seed());
  const std::vector<QuantParams> all = grids();
  constexpr std::size_t kValues = 10'000'000;
  for (std::size_t done = 0, turn = 0; done < kValues; done += kChunk, ++turn) {
    const std::vector<float> values =
        turn % 2 == 0 ? random_bits(random, kChunk) : random_magnitudes(random, kChunk, -30, 20);
    const QuantParams& params = all[turn % all.size()];
    ASSERT_EQ(compare(params, values), "") << format_name(params.format) << " chunk " << turn;
  }
}

TEST(OneValue, RoundsEachCodeAndItsTiesLikeTheVectors) {
  for (const QuantParams& params : grids()) {
    // Every FP32 with 16 significant upper bits, its neighbours, and the ties between the values of 16 bits: all codes
    // of formats of 8 and 16 bits and the middle between any two are among them.
    for (const std::uint32_t low : {0x0000u, 0x0001u, 0xFFFFu, 0x8000u, 0x7FFFu, 0x8001u, 0x1000u, 0x2000u, 0x3000u}) {
      std::vector<float> values(kChunk);
      for (std::uint32_t high = 0; high < kChunk; ++high) values[high] = float_of_bits(high << 16U | low);
      ASSERT_EQ(compare(params, values), "") << format_name(params.format) << " low bits " << low;
    }
    if (params.scale.empty()) continue;
    std::vector<float> halves;
    for (int twice = -1200; twice <= 1200; ++twice)
      halves.push_back(0.5f * static_cast<float>(twice) * params.scale[0]);
    ASSERT_EQ(compare(params, halves), "") << format_name(params.format) << " halves of steps";
  }
}

QuantParams of_blocks(Format format, int block, float tensor_scale) {
  QuantParams params;
  params.format = format;
  params.block = block;
  params.scale = {tensor_scale};
  params.dynamic = true;
  return params;
}

/// The kernel's steps: rows of `length`, the last block of each may be shorter.
void round_rows(const QuantParams& params, int length, const std::vector<float>& values, std::vector<float>& out,
                ValueEvents& events) {
  const ValueGrid grid = value_grid(params);
  const BlockGrid blocks = block_grid(params.format, params.scale.at(0));
  for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(length)) {
    for (int along = 0; along < length; along += params.block) {
      const std::size_t first = row + static_cast<std::size_t>(along);
      round_block(grid, blocks, &values[first], &out[first], std::min(params.block, length - along), &events);
    }
  }
}

TEST(OneValue, RoundsBlocksLikeTheVectors) {
  std::mt19937_64 random(test_seed());
  constexpr int kRows = 700, kLength = 90;  // of five blocks and ten values, or of two and 26
  for (const QuantParams& params :
       {of_blocks(Format::NvFp4, 16, 1.0F), of_blocks(Format::NvFp4, 16, 0.003F), of_blocks(Format::MxFp8, 32, 1.0F),
        of_blocks(Format::MxFp8E5M2, 32, 1.0F), of_blocks(Format::MxFp4, 32, 1.0F)}) {
    for (int turn = 0; turn < 4; ++turn) {
      std::vector<float> values = turn % 2 == 0 ? random_bits(random, std::size_t{kRows} * kLength)
                                                : random_magnitudes(random, std::size_t{kRows} * kLength, -20, 6);
      if (turn == 2) std::fill(values.begin(), values.begin() + 3 * kLength, 0.0F);
      if (turn == 3) std::fill(values.begin(), values.begin() + 3 * kLength, 0x1p-149F);
      std::vector<float> expected(values.size()), got(values.size());
      RoundEvents expected_events;
      ValueEvents events;
      round_tensor(params, {kRows, kLength}, values, expected, &expected_events);
      round_rows(params, kLength, values, got, events);
      EXPECT_EQ(difference(expected, got), "") << format_name(params.format) << " turn " << turn;
      EXPECT_EQ(events.saturated, expected_events.saturated);
      EXPECT_EQ(events.subnormal, expected_events.subnormal);
      EXPECT_EQ(events.flushed, expected_events.flushed);
      EXPECT_EQ(events.nan, expected_events.nan);
      round_rows(params, kLength, values, values, events);
      EXPECT_EQ(difference(expected, values), "") << "in place";
    }
  }
}

TEST(OneValue, ScalesBlocksAsTheirFormatsSay) {
  const BlockGrid powers = block_grid(Format::MxFp4, 1.0F);  // E2M1: its largest value has the power 2
  EXPECT_EQ(block_scale(powers, 0.0F), 1.0F);
  EXPECT_EQ(block_scale(powers, 6.0F), 1.0F);
  EXPECT_EQ(block_scale(powers, 7.99F), 1.0F);
  EXPECT_EQ(block_scale(powers, 8.0F), 2.0F);
  EXPECT_EQ(block_scale(powers, 0x1p-149F), 0x1p-127F);
  EXPECT_EQ(block_scale(powers, 0x1.FFFFFEp127F), 0x1p125F);
  const BlockGrid eighths = block_grid(Format::NvFp4, 0.5F);
  EXPECT_EQ(block_scale(eighths, 0.0F), 0.5F);
  EXPECT_EQ(block_scale(eighths, 3.0F), 0.5F);         // 3 / (6 * 0.5) is on E4M3
  EXPECT_EQ(block_scale(eighths, 1e-9F), 0x1p-10F);    // the least, 2^-9
  EXPECT_EQ(block_scale(eighths, 1e30F), 448 * 0.5F);  // the largest
}

TEST(OneValue, ScalesRangesLikeDynamicQuantizeLinear) {
  const auto expect = [](float min, float max, float scale, float zero_point) {
    const RangeScale found = scale_of_range(min, max);
    EXPECT_EQ(found.scale, scale) << min << " to " << max;
    EXPECT_EQ(found.zero_point, zero_point) << min << " to " << max;
  };
  expect(0, 255, 1, 0);
  expect(-255, 0, 1, 255);
  expect(-51, 204, 1, 51);
  expect(3, 510, 2, 0);
  expect(0, 0, 1, 0);
  expect(0, 0x1p-149F, 1, 0);                         // its scale would be zero
  expect(-0x1.FFFFFEp127F, 0x1.FFFFFEp127F, 1, 255);  // and infinite
}

TEST(OneValue, RoundsToTf32LikeTheVectors) {
  std::mt19937_64 random(test_seed());
  const std::vector<float> values = random_bits(random, 1'000'000);
  std::vector<float> expected(values.size()), got(values.size());
  round_to_tf32(values, expected);
  for (std::size_t i = 0; i < values.size(); ++i) got[i] = round_value_to_tf32(values[i]);
  EXPECT_EQ(difference(expected, got), "");
}

TEST(OneValue, AddsTheNoiseOfTheVectors) {
  std::mt19937_64 random(test_seed());
  constexpr std::size_t kLanes = 16;  // of tensor_cores_simd-inl.h
  const std::vector<float> values = random_magnitudes(random, 4 * 200, -12, 9);
  std::vector<float> expected(values.size()), got;
  add_sum_noise(4, 200, 9, 77, values, expected);
  for (std::size_t first = 0; first < values.size(); first += 200) {
    std::vector<float> lanes(kLanes);
    for (std::size_t i = 0; i < 200; ++i) {
      const float power = float16_power_of(values[first + i]);
      lanes[i % kLanes] += power * power;
    }
    const float amplitude = noise_amplitude(std::accumulate(lanes.begin(), lanes.end(), 0.0), 200, 9);
    for (std::size_t i = 0; i < 200; ++i) {
      got.push_back(with_hashed_noise(values[first + i], static_cast<unsigned>(first + i), 77, amplitude));
    }
  }
  EXPECT_EQ(difference(expected, got), "");
}

}  // namespace
}  // namespace vernier::test
