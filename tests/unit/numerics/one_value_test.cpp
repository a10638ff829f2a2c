// The arithmetic that GPUs share (one_value.h) against the SIMD code that the CPU runs: equal bits and equal events.
#include "numerics/one_value.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "numerics/grid.h"
#include "numerics/round.h"
#include "numerics/tensor_cores.h"
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
