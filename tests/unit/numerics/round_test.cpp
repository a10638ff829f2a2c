// Hand-checked values, and what a caller may get wrong.
#include "numerics/round.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "oracle.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

constexpr float kInfinityFloat = std::numeric_limits<float>::infinity();

struct Row {
  float value;
  float rounded;
};

void expect_rows(const QuantParams& params, std::span<const Row> rows) {
  for (const std::string_view target : dispatch_targets()) {
    const OnTarget limit(target);
    for (const Row& row : rows) {
      EXPECT_EQ(bits_of_float(round_one(params, row.value)), bits_of_float(row.rounded)) << row.value << " " << target;
      EXPECT_EQ(bits_of_float(round_one(params, -row.value)), bits_of_float(-row.rounded))
          << -row.value << " " << target;
    }
  }
}

TEST(RoundFloat16, MatchesTheHandCheckedTable) {
  const Row rows[] = {
      {0.0f, 0.0f},
      {1.0f, 1.0f},
      {0.1f, 0x1.998p-4f},          // 0.0999755859375
      {0x1.002p0f, 0x1p0f},         // tie between 1 and 1 + 2^-10: even is 1
      {0x1.006p0f, 0x1.008p0f},     // tie between 1 + 2^-10 and 1 + 2^-9: even is the upper
      {0x1.002002p0f, 0x1.004p0f},  // just above the tie
      {0x1.ffep0f, 0x1p1f},         // carries into the exponent
      {2049.0f, 2048.0f},           // tie
      {2051.0f, 2052.0f},           // tie
      {65504.0f, 65504.0f},         // largest
      {65519.996f, 65504.0f},       // last float32 below the tie
      {65520.0f, kInfinityFloat},   // tie with 65536, which does not exist
      {65536.0f, kInfinityFloat},
      {std::numeric_limits<float>::max(), kInfinityFloat},
      {kInfinityFloat, kInfinityFloat},
      {0x1p-14f, 0x1p-14f},          // smallest normal
      {0x1.ff8p-15f, 0x1.ff8p-15f},  // largest subnormal: 1023 steps of 2^-24
      {0x1.ffcp-15f, 0x1p-14f},      // 1023.5 steps: tie, up to the smallest normal
      {0x1p-24f, 0x1p-24f},          // smallest subnormal
      {0x1p-25f, 0.0f},              // half of it: tie, to zero
      {0x1.000002p-25f, 0x1p-24f},   // just above
      {0x1.8p-24f, 0x1p-23f},        // 1.5 steps: tie, to 2
      {0x1.4p-23f, 0x1p-23f},        // 2.5 steps: tie, to 2
      {std::numeric_limits<float>::denorm_min(), 0.0f},
  };
  expect_rows(params_of(Format::Float16), rows);
}

TEST(RoundBFloat16, MatchesTheHandCheckedTable) {
  const Row rows[] = {
      {0.0f, 0.0f},
      {1.0f, 1.0f},
      {3.14159274f, 3.140625f},
      {0x1.01p0f, 0x1p0f},             // tie, to even
      {0x1.03p0f, 0x1.04p0f},          // tie, to even
      {0x1.010002p0f, 0x1.02p0f},      // just above
      {0x1.fep127f, 0x1.fep127f},      // largest
      {0x1.fefffep127f, 0x1.fep127f},  // last below the tie
      {0x1.ffp127f, kInfinityFloat},   // tie
      {std::numeric_limits<float>::max(), kInfinityFloat},
      {kInfinityFloat, kInfinityFloat},
      {0x1p-133f, 0x1p-133f},        // smallest subnormal
      {0x1p-134f, 0.0f},             // tie, to zero
      {0x1.0008p-134f, 0x1p-133f},   // just above (the next float32 subnormal)
      {0x1.fcp-127f, 0x1.fcp-127f},  // largest subnormal
      {0x1.fep-127f, 0x1p-126f},     // tie, up to the smallest normal
      {std::numeric_limits<float>::denorm_min(), 0.0f},
  };
  expect_rows(params_of(Format::BFloat16), rows);
}

TEST(RoundFloat8E4M3FN, MatchesTheHandCheckedTable) {
  const Row rows[] = {
      {0.0f, 0.0f},
      {1.0f, 1.0f},
      {0.3f, 0.3125f},
      {1.0625f, 1.0f},   // tie, to even
      {1.1875f, 1.25f},  // tie, to even
      {17.0f, 16.0f},    // tie
      {448.0f, 448.0f},  // largest
      {464.0f, 448.0f},  // would be a tie with 480: 448 is even
      {480.0f, 448.0f},  // saturates
      {1e30f, 448.0f},
      {kInfinityFloat, 448.0f},
      {0x1p-6f, 0x1p-6f},  // smallest normal
      {0x1p-9f, 0x1p-9f},  // smallest subnormal
      {0x1p-10f, 0.0f},    // tie, to zero
      {0x1.000002p-10f, 0x1p-9f},
      {0x1.8p-9f, 0x1p-8f},  // 1.5 steps: tie, to 2
      {0x1.ep-7f, 0x1p-6f},  // 7.5 steps: tie, up to the smallest normal
      {std::numeric_limits<float>::denorm_min(), 0.0f},
  };
  expect_rows(params_of(Format::Float8E4M3FN), rows);
}

TEST(RoundFloat8E5M2, MatchesTheHandCheckedTable) {
  const Row rows[] = {
      {0.0f, 0.0f},
      {1.0f, 1.0f},
      {0.3f, 0.3125f},
      {1.125f, 1.0f},        // tie, to even
      {1.375f, 1.5f},        // tie, to even
      {57344.0f, 57344.0f},  // largest
      {61439.996f, 57344.0f},
      {61440.0f, 57344.0f},  // would go to 65536: saturates
      {kInfinityFloat, 57344.0f},
      {0x1p-14f, 0x1p-14f},    // smallest normal
      {0x1p-16f, 0x1p-16f},    // smallest subnormal
      {0x1p-17f, 0.0f},        // tie, to zero
      {0x1.8p-16f, 0x1p-15f},  // tie, to 2 steps
      {0x1.cp-15f, 0x1p-14f},  // 3.5 steps: tie, up to the smallest normal
      {std::numeric_limits<float>::denorm_min(), 0.0f},
  };
  expect_rows(params_of(Format::Float8E5M2), rows);
}

TEST(RoundFloat8, DividesByTheScaleFirst) {
  EXPECT_EQ(round_one(params_of(Format::Float8E4M3FN, 0.5f), 300.0f), 224.0f);
  EXPECT_EQ(round_one(params_of(Format::Float8E4M3FN, 10.0f), 10.7f), 11.25f);
  EXPECT_TRUE(std::signbit(round_one(params_of(Format::Float8E5M2, 1e3f), -1e-9f)));
}

TEST(RoundInt8, MatchesTheHandCheckedTable) {
  const Row rows[] = {{0.5f, 0.0f}, {1.5f, 2.0f}, {2.5f, 2.0f}, {126.5f, 126.0f}, {0.49999997f, 0.0f}};
  for (const Row& row : rows) EXPECT_EQ(round_one(params_of(Format::Int8), row.value), row.rounded) << row.value;
  EXPECT_EQ(round_one(params_of(Format::Int8), 127.5f), 127.0f);
  EXPECT_EQ(round_one(params_of(Format::Int8), -128.5f), -128.0f);
  EXPECT_EQ(round_one(params_of(Format::Int8), -129.0f), -128.0f);
  EXPECT_EQ(round_one(params_of(Format::UInt8, 1.0f, 128), -128.5f), -128.0f);
}

TEST(RoundInt8, DividesInsteadOfMultiplyingByTheReciprocal) {
  // Half a step times the scale is a tie for the division; the reciprocal has an error of its own that can break it.
  int differences = 0;
  for (int i = 0; i < 2000; ++i) {
    const float scale = 0.001f * static_cast<float>(i + 1);
    const float x = scale * (static_cast<float>(i % 100) + 0.5f);
    const float quotient = x / scale;
    differences += std::nearbyint(quotient) != std::nearbyint(x * (1.0f / scale));
    ASSERT_EQ(round_one(params_of(Format::Int8, scale), x), scale * std::nearbyint(quotient)) << x << " " << scale;
  }
  EXPECT_GT(differences, 0) << "the values do not tell the two apart";
}

TEST(RoundInt8, HasNoNegativeZero) {
  EXPECT_EQ(bits_of_float(round_one(params_of(Format::Int8), -0.0f)), 0u);
  EXPECT_EQ(bits_of_float(round_one(params_of(Format::Int8), -0.3f)), 0u);
}

TEST(RoundInt8, MapsNaNToTheZeroPoint) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(bits_of_float(round_one(params_of(Format::Int8), nan)), 0u);
  EXPECT_EQ(bits_of_float(round_one(params_of(Format::UInt8, 0.1f, 200), -nan)), 0u);
}

TEST(RoundInt8, HonoursTheLowestCode) {
  QuantParams params = params_of(Format::Int8, 0.5f);
  params.lowest_code = -127;
  EXPECT_EQ(round_one(params, -1000.0f), -63.5f);
  EXPECT_EQ(round_one(params, 1000.0f), 63.5f);
}

TEST(RoundTo, KeepsNaNAndItsSignInFloatFormats) {
  for (const Format format : kFloatFormats) {
    EXPECT_EQ(bits_of_float(round_one(params_of(format), float_of_bits(0x7F800001u))), 0x7FC00000u);
    EXPECT_EQ(bits_of_float(round_one(params_of(format, 0.3f), float_of_bits(0xFFABCDEFu))), 0xFFC00000u);
  }
}

TEST(RoundTo, CopiesFloat32) {
  const std::vector<float> values = {1.1f, -0.0f, float_of_bits(0x7F800001u), kInfinityFloat};
  std::vector<float> out(values.size());
  round_to(params_of(Format::Float32), values, out);
  EXPECT_EQ(difference(values, out), "");
}

TEST(RoundTo, AcceptsAnEmptyTensor) {
  QuantParams params = params_of(Format::Int8);
  EXPECT_NO_THROW(round_to(params, {}, {}));
  params.scale = {1.0f, 2.0f};
  EXPECT_NO_THROW(round_to(params, 2, 5, {}, {}));
}

TEST(RoundTo, WorksInPlace) {
  std::vector<float> values(37, 0.1f);
  round_to(params_of(Format::Float16), values, values);
  for (const float value : values) EXPECT_EQ(value, 0x1.998p-4f);
}

void expect_refused(const QuantParams& params, std::int64_t channels, std::int64_t inner, std::size_t in,
                    std::size_t out, const std::string& text) {
  const std::vector<float> values(in);
  std::vector<float> room(out);
  try {
    round_to(params, channels, inner, values, room);
    ADD_FAILURE() << "accepted: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);
    EXPECT_EQ(error.what(), text);
  }
}

TEST(RoundTo, RefusesBrokenParameters) {
  QuantParams params;
  params.format = Format::Int8;
  expect_refused(params, 1, 4, 4, 4, "int8 needs a scale but none was given");
  params.scale = {0.0f};
  expect_refused(params, 1, 4, 4, 4, "scale 0 of int8 is 0, not a positive finite number");
  params.scale = {1.0f, kInfinityFloat};
  expect_refused(params, 2, 2, 4, 4, "scale 1 of int8 is inf, not a positive finite number");
  params.scale = {1.0f, 2.0f};
  expect_refused(params, 3, 2, 6, 6, "2 scales for a tensor read as [outer, 3, 2]");
  expect_refused(params, 2, 2, 6, 6, "6 values cannot be read as [outer, 2, 2]");
  expect_refused(params, 2, 2, 4, 5, "4 values to round into space for 5");
  params.zero_point = {1};
  expect_refused(params, 2, 2, 4, 4, "1 zero points for 2 scales");
  params.zero_point = {1, 128};
  expect_refused(params, 2, 2, 4, 4, "zero point 128 is outside the range [-128, 127] of int8");
  params.zero_point.clear();
  params.lowest_code = -129;
  expect_refused(params, 2, 2, 4, 4, "lowest value -129 is outside the range [-128, 127] of int8");
  QuantParams half;
  half.format = Format::Float16;
  half.scale = {1.0f};
  expect_refused(half, 1, 4, 4, 4, "float16 takes no scale but 1 were given");
}

}  // namespace
}  // namespace vernier::test
