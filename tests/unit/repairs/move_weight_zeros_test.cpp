#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "bench.h"
#include "numerics/tensor_grid.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

/// What is proposed for `weights` of a MatMul under a target.
Proposal moved_zero(const Tensor& weights, Target target) {
  Model model = parsed("g (float[1,8] x) => (float[1,8] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({8, 8})}});
  set_initializer(model, *model.proto.mutable_graph(), "w", weights);
  Bench bench(std::move(model), Format::Int8);
  bench.plan.target = target;
  if (target == Target::OnnxRuntime) bench.plan.layers.front().format = Format::UInt8;
  const auto proposals = move_weight_zeros(bench.network(), 0);
  EXPECT_EQ(proposals.size(), 1U);
  return proposals.at(0);
}

TEST(MoveWeightZeros, HoldsAGridThatReachesFartherOnOneSide) {
  const Tensor w = filled({8, 8}, [](int i) { return 0.01F * static_cast<float>(i * 37 % 64 * 4 - 95); });
  const Proposal proposal = moved_zero(w, Target::OnnxRuntime);
  EXPECT_EQ(proposal.what, "scale 0.01 and zero point -30 instead of 0.0123622 and 0");
  std::vector<float> rounded(64);
  round_tensor(proposal.grids.at("w"), w.shape(), w.floats(), rounded);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(rounded[i], w.floats()[i], 1e-6F);
}

TEST(MoveWeightZeros, StretchesTheCodesOverOrdinaryWeights) {
  const Tensor w = filled({8, 8}, [](int i) { return 0.5F + std::sin(static_cast<float>(i)); });
  const QuantParams grid = moved_zero(w, Target::OnnxRuntime).grids.at("w");
  EXPECT_NEAR(grid.scale.front(), 2.0F / 255, 1e-5F);
  EXPECT_EQ(grid.zero_point, std::vector<std::int32_t>{-64});
}

TEST(MoveWeightZeros, RefusesWithAReason) {
  const Tensor sine = filled({8, 8}, [](int i) { return std::sin(static_cast<float>(i)); });
  EXPECT_EQ(moved_zero(sine, Target::OnnxRuntime).why_not, "its weights reach about equally far on both sides of zero");
  const Tensor grid = filled({8, 8}, [](int i) { return 0.01F * static_cast<float>(i * 37 % 64 - 20); });
  EXPECT_EQ(moved_zero(grid, Target::OnnxRuntime).why_not, "symmetric quantization already uses its whole range");
  EXPECT_EQ(moved_zero(grid, Target::TensorRt).why_not, "target tensorrt does not support zero points of weights");
}

}  // namespace
}  // namespace vernier::testing
