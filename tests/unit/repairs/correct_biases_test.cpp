#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

std::vector<float> biases_of(const Proposal& proposal) {
  const std::span<const float> values = proposal.constants.at("b").values.floats();
  return {values.begin(), values.end()};
}

TEST(BiasCorrection, TakesTheMeanErrorOut) {
  Model model = parsed("g (float[1,8] x) => (float[1,2] y) <float[2] b = {1, 2}> { [fc] y = Gemm(x, w, b) }",
                       {{"w", zeros({8, 2})}});
  Bench bench(std::move(model), Format::Int8);
  bench.mean_error["fc"] = {{0.25, -0.5}, {}};
  const auto proposals = correct_biases(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(biases_of(proposals[0]), (std::vector<float>{0.75F, 2.5F}));
  EXPECT_EQ(proposals[0].constants.at("b").layer, "fc");
}

TEST(BiasCorrection, TakesOutNoMoreThanIsKnown) {
  Bench bench(parsed("g (float[1,8] x) => (float[1,2] y) <float[2] b = {1, 2}> { [fc] y = Gemm(x, w, b) }",
                     {{"w", zeros({8, 2})}}),
              Format::Int8);
  bench.mean_error["fc"] = {{3, -1}, {3, 1}};  // shrunk to 1.5 and -0.75
  EXPECT_EQ(biases_of(correct_biases(bench.network(), 0).at(0)), (std::vector<float>{-0.5F, 2.75F}));
  bench.mean_error["fc"] = {{0.5, -0.5}, {1, 1}};
  EXPECT_EQ(correct_biases(bench.network(), 0).at(0).why_not, "its mean errors are within noise");
}

TEST(BiasCorrection, NeedsABias) {
  Model model = parsed("g (float[1,8] x) => (float[1,2] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({8, 2})}});
  Bench bench(std::move(model), Format::Int8);
  bench.mean_error["mm"] = {{0.25, -0.5}, {}};
  EXPECT_EQ(correct_biases(bench.network(), 0).at(0).why_not,
            "the MatMul does not add a constant bias, and no float Add follows it");
}

TEST(BiasCorrection, FindsTheBiasOfAnAddBehindAMatMul) {
  const auto proposal = [](const std::string& graph, const std::vector<std::string>& low) {
    Bench bench(parsed(graph, {{"w", zeros({8, 2})}}), Format::Int8);
    for (PlannedLayer& layer : bench.plan.layers) {
      if (std::ranges::find(low, layer.name) == low.end()) layer.format = Format::Float32;
    }
    bench.mean_error["mm"] = {{0.25, -0.5}, {}};
    const auto proposals = correct_biases(bench.network(), 0);
    return proposals.empty() ? Proposal{} : proposals.front();
  };
  const std::string added =
      "g (float[1,8] x) => (float[1,2] y) <float[2] b = {1, 2}> { [mm] a = MatMul(x, w)\n [add] y = Add(b, a) }";
  const Proposal found = proposal(added, {"mm"});
  EXPECT_EQ(biases_of(found), (std::vector<float>{0.75F, 2.5F}));
  EXPECT_EQ(found.constants.at("b").layer, "mm") << "kept in float32, it takes the bias as it was";
  EXPECT_TRUE(found.by_output) << "the layer's own error ends before the Add";
  EXPECT_NE(proposal(added, {"mm", "add"}).why_not, "") << "an Add in INT8 rounds its bias to a grid of its own";
  EXPECT_NE(proposal("g (float[1,8] x) => (float[1,2] y, float[1,2] z) <float[2] b = {1, 2}> { [mm] a = MatMul(x, w)\n"
                     " [add] y = Add(b, a)\n [other] z = Relu(a) }",
                     {"mm"})
                .why_not,
            "")
      << "another node reads the result without the bias";
}

}  // namespace
}  // namespace vernier::testing
