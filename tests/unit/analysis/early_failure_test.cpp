#include "analysis/early_failure.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <random>
#include <vector>

namespace vernier {
namespace {

struct Samples {
  std::vector<double> paired, now;  // contributions; `now` sums to `total`
};

/// Log-normal pairs, and contributions that follow them with noise.
Samples samples(std::size_t count, double noise, double total, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  Samples all;
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) {
    all.paired.push_back(std::exp(normal(random)));
    all.now.push_back(all.paired.back() * std::exp(noise * normal(random)));
    sum += all.now.back();
  }
  for (double& value : all.now) value *= total / sum;
  return all;
}

Samples hardest_fifth_first(const Samples& all) {
  std::vector<std::size_t> order(all.paired.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> sorted = all.paired;
  std::sort(sorted.rbegin(), sorted.rend());
  const double least = sorted[sorted.size() / 5];
  std::stable_partition(order.begin(), order.end(), [&](std::size_t i) { return all.paired[i] > least; });
  Samples ordered;
  for (const std::size_t i : order) {
    ordered.paired.push_back(all.paired[i]);
    ordered.now.push_back(all.now[i]);
  }
  return ordered;
}

/// How many samples were needed; all of them when it never failed.
std::size_t needed(const Samples& all, std::size_t chosen, double confidence) {
  EarlyFailure failure(all.paired, chosen, confidence);
  for (std::size_t i = 0; i < all.now.size(); ++i) {
    if (failure.add(all.now[i])) return i + 1;
  }
  return all.now.size();
}

TEST(EarlyFailure, SeesAPlainFailureAtTheFirstLook) {
  EXPECT_EQ(needed(samples(200, 0.2, 3, 1), 0, 0.99), 8U);
  EXPECT_EQ(needed(samples(200, 0.2, 3, 1), 4, 0.99), 12U);
}

TEST(EarlyFailure, NeverFailsWithNothingWrongOrTooFewSamples) {
  EXPECT_EQ(needed(samples(200, 0.2, 0.5, 2), 0, 0.99), 200U);
  EXPECT_EQ(needed(samples(8, 0.2, 3, 3), 0, 0.99), 8U);
  EarlyFailure failure(std::vector<double>(100, 0.0), 0, 0.99);
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(failure.add(0));
}

TEST(EarlyFailure, IsWrongNoMoreOftenThanStated) {
  // Sets that pass by a hair, the hardest fifth chosen: each early failure is a mistake.
  constexpr int kTrials = 400;
  for (const double noise : {0.1, 0.5, 1.0}) {
    int wrong = 0;
    for (int seed = 0; seed < kTrials; ++seed) {
      const Samples all = hardest_fifth_first(samples(150, noise, 0.9999, static_cast<std::uint64_t>(seed)));
      if (needed(all, 30, 0.95) < 150) ++wrong;
    }
    EXPECT_LE(wrong, kTrials * 5 / 100) << "noise " << noise;
  }
}

TEST(EarlyFailure, PairsSaveSamples) {
  std::size_t paired = 0;
  std::size_t plain = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Samples all = samples(300, 0.3, 1.3, seed);
    paired += needed(all, 0, 0.95);
    std::fill(all.paired.begin(), all.paired.end(), 1.0);
    plain += needed(all, 0, 0.95);
  }
  EXPECT_LT(2 * paired, plain);
}

}  // namespace
}  // namespace vernier
