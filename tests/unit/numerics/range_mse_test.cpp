// The range with the least noise against one found by trying ranges one by one on every bin as it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "distributions.h"
#include "numerics/range_methods.h"
#include "numerics/round.h"

namespace vernier {
namespace {

using test::of_bins;

/// All values of a bin where its middle is.
double noise_of(const Distribution& values, const QuantParams& params) {
  double sum = 0;
  for (const Bin& bin : values.bins) {
    const float value = bin.middle();
    float rounded = 0;
    round_to(params, std::span(&value, 1), std::span(&rounded, 1));
    sum += static_cast<double>(bin.count) * std::pow(static_cast<double>(value) - rounded, 2);
  }
  return sum;
}

double least_noise(const Distribution& values) {
  double least = std::numeric_limits<double>::infinity();
  for (int k = 0; k <= 1000; ++k) {
    const auto end = static_cast<float>(values.absmax() * std::exp2(-k / 100.0));
    least = std::min(least, noise_of(values, activation_params(Format::Int8, {-end, end})));
  }
  return least;
}

double noise_of_range(const Distribution& values) {
  const ValueRange range = mse_range(values, Format::Int8);
  return noise_of(values, activation_params(Format::Int8, range));
}

/// Values of both signs in bins of `width`, as often as a Gaussian of deviation 1 has them.
Distribution gaussian(float width, float last) {
  std::vector<Bin> bins;
  for (float low = -last; low < last; low += width) {
    const float middle = low + width / 2;
    const auto count = static_cast<std::int64_t>(1e7 * std::exp(-0.5 * middle * middle));
    if (count > 0) bins.push_back({low, low + width, count});
  }
  return of_bins(bins);
}

TEST(MseRange, IsAsGoodAsTheBestOfAThousandTried) {
  const Distribution values = gaussian(0.01F, 6);
  EXPECT_LE(noise_of_range(values), least_noise(values) * 1.02);
}

/// One value of -1 and many that are far smaller, in several bins of one octave, which are merged. As a whole they are
/// `energy` times as strong as the one.
Distribution one_and_many(double energy) {
  std::vector<Bin> bins{{-1, -1, 1}};
  const float smallest = std::ldexp(1.0F, -13);
  for (int i = 0; i < 8; ++i) {
    const float value = smallest * (1 + static_cast<float>(i) / 8);
    bins.push_back({value, value, static_cast<std::int64_t>(energy / 8 / (static_cast<double>(value) * value))});
  }
  return of_bins(bins);
}

TEST(MseRange, GivesUpWhatIsWeaker) {
  // With -1 on the grid all the small ones are zero; with them on it, -1 is clipped to nearly nothing.
  EXPECT_EQ(mse_range(one_and_many(0.8), Format::Int8).low, -1);
  EXPECT_GT(mse_range(one_and_many(1.2), Format::Int8).low, -0.1F);
  for (const double energy : {0.8, 1.2}) {
    const Distribution values = one_and_many(energy);
    EXPECT_LE(noise_of_range(values), least_noise(values) * 1.05) << energy;
  }
}

TEST(MseRange, OfEachSignApartForAsymmetricGrids) {
  // Nothing but one weak value lies far below zero: the lower end gives way, the upper one stays.
  std::vector<Bin> bins{{-10, -10, 1}};
  for (int i = 0; i < 100; ++i) {
    const float low = static_cast<float>(i) / 10;
    bins.push_back({low, low + 0.1F, 1'000'000});
  }
  const ValueRange range = mse_range(of_bins(bins), Format::UInt8);
  EXPECT_GT(range.low, -1);
  EXPECT_GT(range.high, 9.5F);
}

TEST(MseRange, OfNothingAndOfZerosIsEmpty) {
  EXPECT_EQ(mse_range(Distribution{}, Format::Int8), (ValueRange{0, 0}));
  EXPECT_EQ(mse_range(of_bins({{0, 0, 5}}), Format::UInt8), (ValueRange{0, 0}));
}

}  // namespace
}  // namespace vernier
