#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

constexpr const char* kLayerNorm =
    "[mean] m = ReduceMean<axes = [-1]>(x)\n [sub] d = Sub(x, m)\n [sq] s = Pow(d, two)\n"
    " [var] v = ReduceMean<axes = [-1]>(s)\n [eps] a = Add(v, e)\n [root] r = Sqrt(a)\n [div] q = Div(d, r)\n";

Model layer_norm(const std::string& behind, const std::string& pieces = kLayerNorm) {
  return parsed(
      "g (float[2,4] x) => (float[2,4] y) <float one = {1}, float two = {2}, float e = {1e-6}, float[4] gain = {1, 2, "
      "3, 4},"
      " float[1,4] shift = {5, 6, 7, 8}> { " +
      pieces + behind + " }");
}

TEST(FuseNorm, PiecesBecomeTheOperator) {
  Bench bench(layer_norm("[mul] g1 = Mul(gain, q)\n [add] y = Add(g1, shift)"), Format::Float16);
  const auto proposals = fuse_norms(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  EXPECT_EQ(proposals[0].layers.size(), 9U);
  EXPECT_EQ(proposals[0].opset, 17);
  Model fused = bench.model;
  proposals[0].rewrite(fused);
  ASSERT_EQ(fused.proto.graph().node_size(), 1);
  const onnx::NodeProto& norm = fused.proto.graph().node(0);
  EXPECT_EQ(norm.op_type(), "LayerNormalization");
  EXPECT_EQ(norm.name(), "add") << "the name of the last piece";
  EXPECT_EQ(find_attribute(norm, "epsilon")->f(), 1e-6F);
  EXPECT_EQ(values_of(fused, "add.scale"), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(values_of(fused, "add.bias"), (std::vector<float>{5, 6, 7, 8}));
}

TEST(FuseNorm, WithoutScaleAndBiasTheScaleIsOne) {
  Bench bench(layer_norm("[act] y = Relu(q)"), Format::Float16);
  const auto proposals = fuse_norms(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  Model fused = bench.model;
  proposals[0].rewrite(fused);
  EXPECT_EQ(fused.proto.graph().node_size(), 2);
  EXPECT_EQ(fused.proto.graph().node(0).input_size(), 2);
  EXPECT_EQ(values_of(fused, "div.scale"), (std::vector<float>{1, 1, 1, 1}));
}

TEST(FuseNorm, AnRmsNormBecomesItsOwnOperatorInASecondRound) {
  for (const char* division : {"[div] q = Div(x, r)\n", "[inv] i = Reciprocal(r)\n [div] q = Mul(x, i)\n",
                               "[inv] i = Div(one, r)\n [div] q = Mul(i, x)\n"}) {
    Model model = layer_norm("[mul] g1 = Mul(gain, q)\n [add] y = Add(g1, x)",
                             "[sq] s = Mul(x, x)\n [var] v = ReduceMean<axes = [-1]>(s)\n [eps] a = Add(v, e)\n"
                             " [root] r = Sqrt(a)\n" +
                                 std::string(division));
    Bench bench(std::move(model), Format::Float16);
    EXPECT_TRUE(fuse_norms(bench.network(), 0).empty()) << "LayerNorms come first";
    const auto proposals = fuse_norms(bench.network(), 1);
    ASSERT_EQ(proposals.size(), 1U) << division;
    EXPECT_EQ(proposals[0].why_not, "");
    EXPECT_EQ(proposals[0].opset, 23);
    EXPECT_NE(proposals[0].otherwise, "");
    Model fused = bench.model;
    proposals[0].rewrite(fused);
    ASSERT_EQ(fused.proto.graph().node_size(), 2) << "what is added behind, x itself, is no part of it";
    const onnx::NodeProto& norm = fused.proto.graph().node(0);
    EXPECT_EQ(norm.op_type(), "RMSNormalization");
    EXPECT_EQ(norm.name(), "mul");
    EXPECT_EQ(norm.input_size(), 2);
    EXPECT_EQ(find_attribute(norm, "epsilon")->f(), 1e-6F);
    EXPECT_EQ(values_of(fused, "mul.scale"), (std::vector<float>{1, 2, 3, 4}));
  }
}

TEST(FuseNorm, ALayerNormIsNoRmsNorm) {
  Bench bench(layer_norm("[act] y = Relu(q)"), Format::Float16);
  EXPECT_TRUE(fuse_norms(bench.network(), 1).empty());
}

TEST(FuseNorm, RefusesWithAReason) {
  const auto reason = [](Model model) {
    Bench bench(std::move(model), Format::Float16);
    return fuse_norms(bench.network(), 0).at(0).why_not;
  };
  std::string first = kLayerNorm;
  first.replace(first.find("axes = [-1]"), 11, "axes = [0]");
  EXPECT_EQ(reason(layer_norm("[act] y = Relu(q)", first)), "it does not average over the last dimension");
  EXPECT_EQ(reason(layer_norm("[more] y = Add(q, d)")), "another node reads its differences");
  EXPECT_EQ(reason(layer_norm("[act] y = Relu(q)",
                              "[sq] s = Pow(x, two)\n [var] v = ReduceMean<axes = [0]>(s)\n"
                              " [root] r = Sqrt(v)\n [div] q = Div(x, r)\n")),
            "it does not average over the last dimension")
      << "an RMS norm, whose turn it is not";
  Bench whole(layer_norm("[act] y = Relu(q)"), Format::Float32);
  EXPECT_TRUE(fuse_norms(whole.network(), 0).empty()) << "float32 needs none";
}

}  // namespace
}  // namespace vernier::testing
