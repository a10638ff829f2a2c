#include "jobs/data_check/norm_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace vernier {
namespace {

/// NCHW with two channels of these values each.
Tensor two_channels(const std::vector<float>& first, const std::vector<float>& second) {
  Tensor tensor(Dtype::Float32, {1, 2, 1, static_cast<std::int64_t>(first.size())});
  for (std::size_t i = 0; i < first.size(); ++i) {
    tensor.mutable_floats()[i] = first[i];
    tensor.mutable_floats()[first.size() + i] = second[i];
  }
  return tensor;
}

TEST(NormStatistics, AreTakenChannelByChannelOverAllSamples) {
  std::vector<ChannelMoments> seen;
  fold_channels(two_channels({1, 3}, {10, 10}), seen);
  fold_channels(two_channels({5, 7}, {10, 10}), seen);
  ASSERT_EQ(seen.size(), 2U);
  EXPECT_EQ(seen[0].count, 4);
  EXPECT_EQ(seen[0].mean(), 4);
  EXPECT_DOUBLE_EQ(seen[0].deviation(), std::sqrt(5));
  EXPECT_EQ(seen[1].mean(), 10);
  EXPECT_EQ(seen[1].deviation(), 0);
}

TEST(NormStatistics, TensorsWithoutTheAxisAddNothing) {
  std::vector<ChannelMoments> seen;
  fold_channels(Tensor(Dtype::Float32, {4}), seen);
  fold_channels(Tensor(Dtype::Int64, {1, 2}), seen);
  EXPECT_TRUE(seen.empty());
}

// N(1, 1) seen where N(0, 1) was trained on: half a nat.
TEST(NormStatistics, AMeanOffByOneDeviationIsHalfANat) {
  const TrainedNorm norm{"bn", "x", {0}, {1}, 0};
  std::vector<ChannelMoments> seen;
  Tensor values(Dtype::Float32, {1, 1, 2});
  values.mutable_floats()[0] = 0;
  values.mutable_floats()[1] = 2;
  fold_channels(values, seen);
  const SeenNorm result = compared_with(norm, seen);
  EXPECT_EQ(result.node, "bn");
  EXPECT_DOUBLE_EQ(result.shift, 1);
  EXPECT_DOUBLE_EQ(result.ratio, 1);
  EXPECT_DOUBLE_EQ(result.misfit, 0.5);
}

}  // namespace
}  // namespace vernier
