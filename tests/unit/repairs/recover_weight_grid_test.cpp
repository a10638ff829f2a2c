#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "bench.h"
#include "numerics/tensor_grid.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

TEST(RecoverWeightGrid, ProposesTheStepThatTheWeightsLieOn) {
  Model model = parsed("g (float[1,8] x) => (float[1,8] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({8, 8})}});
  const Tensor w = filled({8, 8}, [](int i) { return 0.01F * static_cast<float>(i * 37 % 200 - 100); });
  set_initializer(model, *model.proto.mutable_graph(), "w", w);
  Bench bench(std::move(model), Format::Int8);
  const auto proposals = recover_weight_grid(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  std::vector<float> rounded(64);
  round_tensor(proposals[0].grids.at("w"), w.shape(), w.floats(), rounded);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(rounded[i], w.floats()[i], 1e-6F);
}

TEST(RecoverWeightGrid, RefusesOrdinaryWeightsWithAReason) {
  Model model = parsed("g (float[1,8] x) => (float[1,8] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({8, 8})}});
  set_initializer(model, *model.proto.mutable_graph(), "w",
                  filled({8, 8}, [](int i) { return std::sin(static_cast<float>(i)); }));
  Bench bench(std::move(model), Format::Int8);
  const auto proposals = recover_weight_grid(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "its weights are not multiples of one 8-bit scale");
}

}  // namespace
}  // namespace vernier::testing
