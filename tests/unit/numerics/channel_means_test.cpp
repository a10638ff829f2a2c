#include "numerics/channel_means.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

namespace vernier {
namespace {

TEST(ChannelMeans, ShrinkByTheirUncertainty) {
  // t = (9 + 1 - 4) / 2 = 3, of which variances of 3 and 1 leave a half and three quarters.
  EXPECT_EQ(shrunk({{3, -1}, {3, 1}}), (std::vector<double>{1.5, -0.75}));
}

TEST(ChannelMeans, NoLargerThanTheirErrorsAreZero) {
  EXPECT_EQ(shrunk({{0.5, -1}, {1, 1}}), (std::vector<double>{0, 0}));
}

TEST(ChannelMeans, WithoutAnErrorStay) {
  EXPECT_EQ(shrunk({{3, -1}, {0, 0}}), (std::vector<double>{3, -1}));
  EXPECT_EQ(shrunk({{3, -1}, {}}), (std::vector<double>{3, -1})) << "variances are not known";
  EXPECT_EQ(shrunk({{0, 0}, {0, 0}}), (std::vector<double>{0, 0}));
  EXPECT_TRUE(shrunk({}).empty());
}

TEST(ChannelMeans, AreNearerToTheTruthOnceShrunk) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> draw;
  std::vector<double> truth;
  ChannelMeans seen;
  for (int c = 0; c < 2000; ++c) {
    truth.push_back(0.5 * draw(random));
    seen.variance.push_back(c % 2 == 0 ? 1 : 0.25);
    seen.mean.push_back(truth.back() + std::sqrt(seen.variance.back()) * draw(random));
  }
  const auto off = [&](const std::vector<double>& means) {
    double squares = 0;
    for (std::size_t c = 0; c < truth.size(); ++c) squares += std::pow(means[c] - truth[c], 2);
    return squares / static_cast<double>(truth.size());
  };
  // As measured: the mean of both variances. Shrunk: of t v / (t + v), t = 0.25.
  EXPECT_NEAR(off(seen.mean), 0.625, 0.05);
  EXPECT_NEAR(off(shrunk(seen)), 0.1625, 0.02);
}

}  // namespace
}  // namespace vernier
