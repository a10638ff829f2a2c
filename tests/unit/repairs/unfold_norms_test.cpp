#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "bench.h"
#include "repairs/repair.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// ConvTranspose of two groups of one input and two outputs: the second group is 1 / 64 of the first.
Bench two_groups(const std::string& bias = "") {
  Tensor w(Dtype::Float32, {2, 2, 1, 2});
  const std::vector<float> values{1, 0.5F, -0.75F, 0.25F, 1.0F / 64, 0.5F / 64, 0.75F / 64, -0.25F / 64};
  std::map<std::string, Tensor> weights{{"w", Tensor::of({2, 2, 1, 2}, values)}};
  const std::vector<float> offsets{1, 2, 3, 4};
  if (!bias.empty()) weights.emplace(bias, Tensor::of({4}, offsets));
  const std::string inputs = bias.empty() ? "x, w" : "x, w, " + bias;
  return Bench(
      parsed("g (float[1,2,4,4] x) => (float[a,b,c,d] y) { [up] y = ConvTranspose<group = 2>(" + inputs + ") }",
             weights),
      Format::Int8);
}

TEST(UnfoldNorms, MakesTheChannelsOfOneScaleAlike) {
  Bench bench = two_groups("b");
  const auto proposals = unfold_norms(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  EXPECT_EQ(proposals[0].layers, std::vector<std::string>{"up"});
  Model model = bench.model;
  proposals[0].rewrite(model);
  EXPECT_EQ(values_of(model, "w"), (std::vector<float>{1, 0.5F, -0.75F, 0.25F, 1, 0.5F, 0.75F, -0.25F}));
  EXPECT_EQ(values_of(model, "b"), (std::vector<float>{1, 2, 192, 256}));
  ASSERT_EQ(model.proto.graph().node_size(), 2);
  const onnx::NodeProto& mul = model.proto.graph().node(1);
  EXPECT_EQ(mul.op_type(), "Mul");
  EXPECT_EQ(mul.output(0), "y");
  EXPECT_EQ(mul.input(0), model.proto.graph().node(0).output(0));
  EXPECT_EQ(initializer(model, mul.input(1))->shape(), (Shape{4, 1, 1}));
  EXPECT_EQ(values_of(model, mul.input(1)), (std::vector<float>{1, 1, 1.0F / 64, 1.0F / 64}));
}

TEST(UnfoldNorms, LeavesAloneWhatGainsLittle) {
  Bench bench = two_groups();
  set_initializer(bench.model, *bench.model.proto.mutable_graph(), "w",
                  filled({2, 2, 1, 2}, [](int i) { return 1.0F - 0.05F * static_cast<float>(i); }));
  EXPECT_TRUE(unfold_norms(bench.network(), 0).empty());
}

TEST(UnfoldNorms, LeavesAloneChannelsWithScalesOfTheirOwn) {
  Bench bench(parsed("g (float[1,4,4,4] x) => (float[a,b,c,d] y) { [conv] y = Conv(x, w) }",
                     {{"w", filled({2, 4, 1, 1}, [](int i) { return i < 4 ? 1.0F : 0.01F; })}}),
              Format::Int8);
  EXPECT_EQ(unfold_norms(bench.network(), 0).size(), 1U);  // one scale for the whole weight
  bench.plan.tensors.at("w").scale = {1.0F / 127, 0.01F / 127};
  bench.plan.tensors.at("w").axis = 0;
  EXPECT_TRUE(unfold_norms(bench.network(), 0).empty());
}

TEST(UnfoldNorms, SaysWhyItCannot) {
  Bench bench(parsed("g (float[1,2,4,4] x) => (float[a,b,c,d] y, float[a,b,c,d] z) {"
                     " [up] y = ConvTranspose<group = 2>(x, w)\n [too] z = ConvTranspose<group = 2>(x, w) }",
                     {{"w", filled({2, 2, 1, 2}, [](int i) { return i < 4 ? 1.0F : 0.01F; })}}),
              Format::Int8);
  const auto proposals = unfold_norms(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 2U);
  EXPECT_EQ(proposals[0].why_not, "another layer reads its weight or its bias");
}

}  // namespace
}  // namespace vernier::testing
