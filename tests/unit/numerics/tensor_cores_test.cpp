// Convolutions summed in float16, computed exactly, against the noise that stands for them and against what TensorRT
// was measured to give.
#include "numerics/tensor_cores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/metrics.h"
#include "oracle.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier::test {
namespace {

// Where the values of a channel lie between two powers of two moves the power of one rounding by half a dB: the
// channels' sizes fill an octave.
constexpr std::size_t kChannels = 16;
constexpr std::size_t kInner = 512;
constexpr std::size_t kResults = kChannels * kInner;

float deviation_of(std::size_t result) {
  return std::exp2(static_cast<float>(result / kInner) / static_cast<float>(kChannels));
}

std::vector<float> to_float16(std::vector<float> values) {
  round_to(params_of(Format::Float16, 1), values, values);
  return values;
}

/// Uniform in [-size, size], in float16.
std::vector<float> random_float16(std::mt19937_64& random, std::size_t n, float size) {
  std::vector<float> values(n);
  for (float& value : values) value = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-31F * size;
  return to_float16(std::move(values));
}

/// In dB, each channel with the same weight.
double sqnr_of(const std::vector<double>& exact, const std::vector<float>& got) {
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double weight = std::pow(static_cast<double>(deviation_of(i)), -2);
    const double error = static_cast<double>(got[i]) - exact[i];
    signal += weight * exact[i] * exact[i];
    noise += weight * error * error;
  }
  return 10 * std::log10(signal / noise);
}

/// Sums of K products of random float16 values.
struct Sums {
  std::vector<double> exact;
  std::vector<float> in_float32;
  std::vector<float> in_float16;  // 16 products at a time in float32, then added and rounded
};

Sums random_sums(std::size_t products, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Sums sums{std::vector<double>(kResults), std::vector<float>(kResults), std::vector<float>(kResults)};
  for (std::size_t first = 0; first < products; first += 16) {
    const std::size_t count = std::min<std::size_t>(16, products - first);
    for (std::size_t i = 0; i < kResults; ++i) {
      const std::vector<float> inputs = random_float16(random, count, 1);
      const std::vector<float> weights = random_float16(random, count, deviation_of(i));
      float block = 0;
      for (std::size_t k = 0; k < count; ++k) {
        block += inputs[k] * weights[k];
        sums.exact[i] += static_cast<double>(inputs[k]) * static_cast<double>(weights[k]);
      }
      sums.in_float16[i] += block;
    }
    sums.in_float16 = to_float16(std::move(sums.in_float16));
  }
  std::ranges::transform(sums.exact, sums.in_float32.begin(), [](double sum) { return static_cast<float>(sum); });
  return sums;
}

struct Measured {
  std::size_t products;
  double tensorrt_db;  // TensorRT-RTX 1.6.1 on an H200: docs/records/within-a-layer.md
};

class SumsInFloat16 : public testing::TestWithParam<Measured> {};
INSTANTIATE_TEST_SUITE_P(Products, SumsInFloat16,
                         testing::Values(Measured{16, 73.6}, Measured{32, 71.8}, Measured{64, 69.6},
                                         Measured{128, 67.2}, Measured{144, 66.8}, Measured{256, 64.4},
                                         Measured{512, 61.5}, Measured{576, 61.2}, Measured{1024, 58.5},
                                         Measured{1152, 58.1}, Measured{2304, 55.2}),
                         [](const auto& row) { return "K" + std::to_string(row.param.products); });

TEST_P(SumsInFloat16, GiveWhatTensorRtGivesAndWhatTheNoiseGives) {
  const auto [products, tensorrt_db] = GetParam();
  const Sums sums = random_sums(products, products);
  const double exact_db = sqnr_of(sums.exact, sums.in_float16);
  EXPECT_NEAR(exact_db, tensorrt_db, 0.3);
  const auto roundings = static_cast<std::int64_t>((products + 15) / 16);
  std::vector<float> noisy(kResults);
  add_sum_noise(kChannels, kInner, roundings, 7, sums.in_float32, noisy);
  EXPECT_NEAR(sqnr_of(sums.exact, to_float16(std::move(noisy))), exact_db, 0.3);
}

TEST(SumNoise, IsNoneForOneRounding) {
  std::mt19937_64 random(test_seed());
  const std::vector<float> values = random_magnitudes(random, 1000, -20, 20);
  std::vector<float> out(values.size());
  add_sum_noise(10, 100, 1, 5, values, out);
  EXPECT_EQ(difference(values, out), "");
}

TEST(SumNoise, HasThePowerOfEachChannel) {
  std::vector<float> values(2 * 4096, 1.5F);
  std::fill_n(values.begin(), 4096, 96.0F);  // 64 times the step of the other channel
  std::vector<float> out(values.size());
  add_sum_noise(2, 4096, 9, 1, values, out);
  const auto power = [&](std::size_t first) {
    double sum = 0;
    for (std::size_t i = first; i < first + 4096; ++i) sum += std::pow(static_cast<double>(out[i] - values[i]), 2);
    return sum / 4096;
  };
  const double one_rounding = 0x1p-20 / 12;
  EXPECT_NEAR(power(4096) / (4 * one_rounding), 1, 0.1);
  EXPECT_NEAR(power(0) / (4 * 64 * 64 * one_rounding), 1, 0.1);
}

TEST(SumNoise, OfShortChannelsIsThatOfAllOfThem) {
  // Two samples of 64 channels with one value each: most are small, and have the noise of the large ones.
  std::vector<float> values(2 * 64, 0x1p-10F);
  for (std::size_t i = 0; i < 64; i += 4) values[i] = 1.0F;
  std::vector<float> out(values.size());
  add_sum_noise(64, 1, 65, 1, values, out);
  float largest = 0;
  for (std::size_t i = 1; i < 4; ++i) largest = std::max(largest, std::abs(out[i] - values[i]));
  EXPECT_GT(largest, 0x1p-13F);
  for (std::size_t i = 64; i < 128; ++i) EXPECT_LT(std::abs(out[i] - values[i]), 0x1p-16F) << i;
}

TEST(SumNoise, LeavesWhatIsNotFinite) {
  std::vector<float> values(16, 1.0F);
  values[3] = std::numeric_limits<float>::infinity();
  values[4] = -std::numeric_limits<float>::infinity();
  values[5] = std::numeric_limits<float>::quiet_NaN();
  std::vector<float> out(values.size());
  add_sum_noise(1, 16, 4, 1, values, out);
  EXPECT_EQ(out[3], values[3]);
  EXPECT_EQ(out[4], values[4]);
  EXPECT_TRUE(std::isnan(out[5]));
  EXPECT_TRUE(std::isfinite(out[0]));
}

TEST(SumNoise, DependsOnSeedAndPlaceAlone) {
  const std::vector<float> values(64, 1.0F);
  std::vector<float> first(64);
  std::vector<float> again(64);
  std::vector<float> other(64);
  add_sum_noise(1, 64, 4, 1, values, first);
  add_sum_noise(1, 64, 4, 1, values, again);
  add_sum_noise(1, 64, 4, 2, values, other);
  EXPECT_EQ(difference(first, again), "");
  EXPECT_NE(difference(first, other), "");
  EXPECT_NE(first[0], first[1]);
}

TEST(SumNoise, HasTheSameBitsOnEveryInstructionSet) {
  std::mt19937_64 random(test_seed());
  const struct {
    std::int64_t channels, inner;
  } shapes[] = {{1, 1}, {3, 5}, {7, 1}, {2, 16}, {3, 33}, {5, 1001}, {1, 4101}};
  for (const auto& [channels, inner] : shapes) {
    const std::vector<float> values =
        random_magnitudes(random, static_cast<std::size_t>(2 * channels * inner), -26, 18);
    std::vector<float> expected(values.size());
    std::vector<float> expected_tf32(values.size());
    {
      const OnTarget scalar(dispatch_targets().back());
      add_sum_noise(channels, inner, 73, 11, values, expected);
      round_to_tf32(values, expected_tf32);
    }
    for (const std::string_view target : dispatch_targets()) {
      const OnTarget limit(target);
      std::vector<float> out = values;
      add_sum_noise(channels, inner, 73, 11, out, out);
      EXPECT_EQ(difference(expected, out), "") << target << " " << channels << " x " << inner;
      round_to_tf32(values, out);
      EXPECT_EQ(difference(expected_tf32, out), "") << target;
    }
  }
}

TEST(SumNoise, RefusesSizesThatDoNotFit) {
  std::vector<float> values(6);
  std::vector<float> out(5);
  EXPECT_THROW(add_sum_noise(1, 6, 2, 1, values, out), Error);
  EXPECT_THROW(add_sum_noise(4, 1, 2, 1, values, values), Error);
  EXPECT_THROW(add_sum_noise(1, 6, 0, 1, values, values), Error);
  EXPECT_THROW(round_to_tf32(values, out), Error);
}

TEST(Tf32, KeepsTenBitsOfMantissa) {
  const struct {
    float value, rounded;
  } rows[] = {{1.0F, 1.0F},
              {0x1.002p0F, 0x1p0F},      // tie: to even
              {0x1.006p0F, 0x1.008p0F},  // tie: up to even
              {0x1.002002p0F, 0x1.004p0F},
              {0x1.ffep0F, 0x1p1F},
              {1e-30F, 0x1.448p-100F},  // the exponents of float32
              {0.0F, 0.0F}};
  for (const auto& [value, rounded] : rows) {
    std::vector<float> out{value, -value};
    round_to_tf32(out, out);
    EXPECT_EQ(out[0], rounded) << value;
    EXPECT_EQ(out[1], -rounded) << value;
  }
  std::vector<float> odd{std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()};
  round_to_tf32(odd, odd);
  EXPECT_TRUE(std::isinf(odd[0]));
  EXPECT_TRUE(std::isnan(odd[1]));
}

/// 70.6 dB: what TensorRT's float32 convolutions and products were measured to give.
TEST(Tf32, GivesProductsWithTheErrorThatTensorRtHas) {
  std::mt19937_64 random(1);
  std::normal_distribution<float> bell;
  std::vector<double> exact(kResults);
  std::vector<float> got(kResults);
  for (std::size_t i = 0; i < kResults; ++i) {
    std::vector<float> x(64);
    std::vector<float> w(64);
    for (float& value : x) value = bell(random);
    for (float& value : w) value = bell(random) * deviation_of(i);
    for (std::size_t k = 0; k < 64; ++k) exact[i] += static_cast<double>(x[k]) * static_cast<double>(w[k]);
    round_to_tf32(x, x);
    round_to_tf32(w, w);
    for (std::size_t k = 0; k < 64; ++k) got[i] += x[k] * w[k];
  }
  EXPECT_NEAR(sqnr_of(exact, got), 70.6, 0.3);
}

}  // namespace
}  // namespace vernier::test
