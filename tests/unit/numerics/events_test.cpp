#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "oracle.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

RoundEvents events_of(const QuantParams& params, std::vector<float> values) {
  RoundEvents events;
  round_to_counting(params, 1, static_cast<std::int64_t>(values.size()), values, values, events);
  return events;
}

TEST(RoundEvents, Float16CountsOverflowSubnormalsAndFlushes) {
  const RoundEvents events = events_of(
      params_of(Format::Float16),
      {0.0f, -0.0f, 1.0f, 65519.996f, 65520.0f, -1e30f, kInfinity, kNaN, 1e-5f, -0x1p-24f, 0x1p-14f, 1e-8f, -1e-40f});
  const RoundEvents expected{.count = 13, .saturated = 0, .overflowed = 2, .subnormal = 2, .flushed = 2, .nan = 1};
  EXPECT_EQ(events, expected);
}

TEST(RoundEvents, Float8CountsSaturationOnlyOfFiniteValuesThatRoundPastTheEnd) {
  const RoundEvents e4m3 =
      events_of(params_of(Format::Float8E4M3FN), {448.0f, 464.0f, 464.00003f, -500.0f, kInfinity, 0x1p-7f, 1e-9f});
  EXPECT_EQ(e4m3, (RoundEvents{.count = 7, .saturated = 2, .subnormal = 1, .flushed = 1}));
  const RoundEvents e5m2 = events_of(params_of(Format::Float8E5M2), {57344.0f, 61439.996f, 61440.0f, -kInfinity});
  EXPECT_EQ(e5m2, (RoundEvents{.count = 4, .saturated = 1}));
}

TEST(RoundEvents, IntegersCountClippingAfterRounding) {
  const RoundEvents events = events_of(params_of(Format::Int8), {127.4f, 127.5f, -128.5f, -128.6f, kInfinity, 3e38f});
  EXPECT_EQ(events, (RoundEvents{.count = 6, .saturated = 3}));
}

TEST(RoundEvents, IntegersCountLostSmallValuesButNotNaN) {
  const RoundEvents events = events_of(params_of(Format::Int8), {0.4f, -0.5f, 0.0f, -0.0f, kNaN, 0.6f});
  EXPECT_EQ(events, (RoundEvents{.count = 6, .flushed = 2, .nan = 1}));
}

TEST(RoundEvents, TieAtTheEndOfAnOffsetGridFollowsTheStepNotTheCode) {
  // Steps run from -200 to 55; 55.5 rounds to 56, past the end.
  const RoundEvents events = events_of(params_of(Format::UInt8, 1.0f, 200), {55.4f, 55.5f, -200.5f, -201.0f});
  EXPECT_EQ(events, (RoundEvents{.count = 4, .saturated = 2}));
}

TEST(RoundEvents, Float32OnlyHasNaNAndSubnormals) {
  const RoundEvents events = events_of(params_of(Format::Float32), {1.0f, kNaN, 1e-40f, kInfinity, 0.0f});
  EXPECT_EQ(events, (RoundEvents{.count = 5, .subnormal = 1, .nan = 1}));
}

TEST(RoundEvents, AddUp) {
  RoundEvents sum{.count = 1, .saturated = 2, .overflowed = 3, .subnormal = 4, .flushed = 5, .nan = 6};
  sum += RoundEvents{.count = 10, .saturated = 20, .overflowed = 30, .subnormal = 40, .flushed = 50, .nan = 60};
  EXPECT_EQ(sum,
            (RoundEvents{.count = 11, .saturated = 22, .overflowed = 33, .subnormal = 44, .flushed = 55, .nan = 66}));
}

}  // namespace
}  // namespace vernier::test
