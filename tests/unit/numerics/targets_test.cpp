// Every instruction set gives the bits of the plain scalar oracle.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/histogram.h"
#include "oracle.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

// Around the vector lengths 1, 4, 8 and 16, and around the block of the error sums.
const std::size_t kLengths[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 1001, 2047, 2048, 2049, 4101};

class EveryTarget : public testing::TestWithParam<std::string_view> {
 protected:
  EveryTarget() : limit_(GetParam()), random_(test_seed()) {}
  void check_round(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                   const std::vector<float>& values) {
    SCOPED_TRACE(testing::Message() << format_name(params.format) << " [" << values.size() << "] channels " << channels
                                    << " inner " << inner << ", VERNIER_TEST_SEED=" << test_seed());
    RoundEvents expected_events;
    const std::vector<float> expected = oracle_round(params, channels, inner, values, expected_events);
    std::vector<float> out(values.size());
    round_to(params, channels, inner, values, out);
    ASSERT_EQ(difference(expected, out), "");
    std::vector<float> in_place = values;
    RoundEvents events;
    round_to_counting(params, channels, inner, in_place, in_place, events);
    ASSERT_EQ(difference(expected, in_place), "");
    ASSERT_EQ(events, expected_events);
  }
  /// Random bits for the edges, and magnitudes around the grid, which random bits rarely hit.
  std::vector<float> mixed_values(std::size_t n, float scale) {
    std::vector<float> values = random_bits(random_, n);
    const std::vector<float> near = random_magnitudes(random_, n, -26, 18);
    for (std::size_t i = 0; i < n; ++i) {
      if (random_() % 4 != 0) values[i] = near[i] * scale;
    }
    return values;
  }
  float random_scale() { return std::abs(random_magnitudes(random_, 1, -20, 20)[0]); }

  OnTarget limit_;
  std::mt19937_64 random_;
};
INSTANTIATE_TEST_SUITE_P(Targets, EveryTarget, testing::ValuesIn(dispatch_targets()),
                         [](const auto& suite) { return std::string(suite.param); });

TEST_P(EveryTarget, RoundsPerTensorLikeTheOracle) {
  for (const Format format : kNarrowFormats) {
    for (const std::size_t n : kLengths) {
      const float scale = random_scale();
      const std::int32_t zero_point =
          std::find(std::begin(kIntegerFormats), std::end(kIntegerFormats), format) != std::end(kIntegerFormats)
              ? static_cast<std::int32_t>(random_() % 8)
              : 0;
      check_round(params_of(format, scale, zero_point), 1, static_cast<std::int64_t>(n), mixed_values(n, scale));
    }
  }
}

TEST_P(EveryTarget, RoundsAllExponentsLikeTheOracle) {
  for (const Format format : kNarrowFormats) {
    for (const float scale : {1.0f, 1e-38f, 1e-42f, 3e38f}) {
      check_round(params_of(format, scale), 1, 20000, random_bits(random_, 20000));
    }
  }
}

TEST_P(EveryTarget, RoundsPerAxisLikeTheOracle) {
  const struct {
    std::int64_t outer, channels, inner;
  } shapes[] = {{1, 2, 3}, {3, 5, 1}, {2, 16, 1}, {4, 37, 1}, {1, 64, 9}, {2, 3, 49}, {5, 2, 130}};
  for (const Format format : {Format::Int8, Format::UInt8, Format::Int4, Format::UInt16, Format::Float8E4M3FN,
                              Format::Float8E5M2, Format::NvFp4}) {
    for (const auto& shape : shapes) {
      for (const bool with_zero_points : {false, true}) {
        QuantParams params;
        params.format = format;
        params.axis = 1;
        const bool is_float = std::ranges::find(kFloatFormats, format) != std::end(kFloatFormats);
        for (std::int64_t c = 0; c < shape.channels; ++c) {
          params.scale.push_back(random_scale());
          if (with_zero_points) params.zero_point.push_back(is_float ? 0 : static_cast<std::int32_t>(random_() % 8));
        }
        const auto n = static_cast<std::size_t>(shape.outer * shape.channels * shape.inner);
        check_round(params, shape.channels, shape.inner, mixed_values(n, 1.0f));
      }
    }
  }
}

TEST_P(EveryTarget, SumsErrorsLikeTheOracle) {
  for (const std::size_t n : kLengths) {
    SCOPED_TRACE(testing::Message() << n << " pairs, VERNIER_TEST_SEED=" << test_seed());
    const std::vector<float> ref = random_magnitudes(random_, n, -40, 40);
    std::vector<float> got = random_magnitudes(random_, n, -40, 40);
    ErrorStats stats;
    accumulate_error(ref, got, stats);
    ASSERT_EQ(stats, oracle_error(ref, got));
    ASSERT_EQ(stats.count, static_cast<std::int64_t>(n));
  }
}

TEST_P(EveryTarget, SumsErrorsOfAnyBitsLikeTheOracle) {
  for (const std::size_t n : kLengths) {
    SCOPED_TRACE(testing::Message() << n << " pairs, VERNIER_TEST_SEED=" << test_seed());
    const std::vector<float> ref = random_bits(random_, n);
    const std::vector<float> got = random_bits(random_, n);
    ErrorStats stats;
    accumulate_error(ref, got, stats);
    ASSERT_EQ(stats, oracle_error(ref, got));
  }
}

TEST_P(EveryTarget, FindsTheRangeOfAnyBits) {
  for (const std::size_t n : kLengths) {
    std::vector<float> values = n % 2 == 0 ? random_bits(random_, n) : random_magnitudes(random_, n, -20, 20);
    if (n % 3 == 0) std::fill(values.begin(), values.end(), -0.0f);
    RangeStats expected;
    expected.count = static_cast<std::int64_t>(n);
    for (const float value : values) {
      if (std::isfinite(value)) {
        expected.min = std::min(expected.min, value);
        expected.max = std::max(expected.max, value);
      } else {
        ++expected.nonfinite;
      }
    }
    RangeStats stats;
    accumulate_range(values, stats);
    EXPECT_EQ(stats, expected) << n << ", VERNIER_TEST_SEED=" << test_seed();
    EXPECT_FALSE(stats.min == 0 && std::signbit(stats.min));
  }
}

TEST_P(EveryTarget, CountsValuesAsOneByOne) {
  RangeStats inner;
  inner.min = -0.5F;
  inner.max = 0.75F;
  for (const std::size_t n : kLengths) {
    std::vector<float> values = n % 2 == 0 ? random_bits(random_, n) : random_magnitudes(random_, n, -20, 20);
    for (std::size_t i = 0; i < n; ++i) {
      if (n % 3 == 0) values[i] = std::clamp(values[i], -1.0F, 6.0F);
      if (i % 5 == 0) values[i] = i % 2 == 0 ? 0.0F : -0.0F;
    }
    for (const bool ends_alone : {false, true}) {
      ValueHistogram together = ends_alone ? ValueHistogram(inner) : ValueHistogram(), one_by_one = together;
      const RangeStats seen = together.add(values);
      for (const float value : values) one_by_one.add(std::span(&value, 1));
      EXPECT_EQ(together, one_by_one) << n << ", VERNIER_TEST_SEED=" << test_seed();
      EXPECT_EQ(seen, together.range());
      std::int64_t counted = together.range().nonfinite;
      for (const Bin& bin : together.bins()) counted += bin.count;
      EXPECT_EQ(counted, static_cast<std::int64_t>(n));
    }
  }
}

TEST(DispatchTargets, EndWithOneThatRunsAnywhere) {
  const std::vector<std::string_view> targets = dispatch_targets();
  ASSERT_FALSE(targets.empty());
  EXPECT_TRUE(targets.back() == "SCALAR" || targets.back() == "EMU128") << targets.back();
}

TEST(DispatchTargets, DoNotShrinkUnderALimit) {
  const std::vector<std::string_view> all = dispatch_targets();
  const OnTarget limit(all.back());
  EXPECT_EQ(dispatch_targets(), all);
}

TEST(LimitDispatch, RefusesAnUnknownTargetAndNamesTheKnown) {
  try {
    limit_dispatch("MMX");
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "this machine has no instruction set 'MMX'");
    EXPECT_NE(error.hint().find(dispatch_targets().back()), std::string::npos);
  }
}

}  // namespace
}  // namespace vernier::test
