#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

/// softmax(c Q K^T + m): logits up to 100000 before the scale.
struct AttentionNet {
  Bench bench;
  explicit AttentionNet(const std::string& scale = "[scale] l = Div(s, eight)",
                        const std::string& query = "[q] a = MatMul(x, wq)\n [bias] b = Add(bq, a)\n",
                        float largest = 1e5F)
      : bench(parsed("g (float[1,2,4,8] x, float[1,2,4,4] m) => (float[1,2,4,4] y, float[1,2,4,8] z)"
                     " <float eight = {8}, float six = {6}, float twice = {2}> { " +
                         query + " [turn] k = Transpose<perm = [0, 1, 3, 2]>(x)\n [qk] s = MatMul(b, k)\n " + scale +
                         " [mask] n = Add(l, m)\n [soft] y = Softmax(n)\n [out] z = MatMul(y, x) }",
                     {{"wq", zeros({8, 8})}, {"bq", zeros({8})}}),
              Format::Float16) {
    onnx::GraphProto& graph = *bench.model.proto.mutable_graph();
    set_initializer(bench.model, graph, "wq", filled({8, 8}, [](int i) { return std::sin(static_cast<float>(i)); }));
    set_initializer(bench.model, graph, "bq", filled({8}, [](int i) { return static_cast<float>(i); }));
    bench.ranges["s"] = {-largest, 5, 10, 0};
  }
  Proposal proposal() {
    auto proposals = scale_attentions(bench.network(), 0);
    EXPECT_EQ(proposals.size(), 1U);
    return std::move(proposals.at(0));
  }
  Model after() {
    const Proposal found = proposal();
    EXPECT_EQ(found.why_not, "");
    Model model = bench.model;
    found.rewrite(model);
    return model;
  }
};

TEST(ScaleAttention, APowerOfTwoGoesIntoTheProjection) {
  AttentionNet net;
  const Model after = net.after();
  for (const char* name : {"wq", "bq"}) {
    const std::vector<float> old = values_of(net.bench.model, name);
    const std::vector<float> scaled = values_of(after, name);
    for (std::size_t i = 0; i < old.size(); ++i) EXPECT_EQ(scaled[i], old[i] / 8) << name;
  }
  EXPECT_FALSE(std::ranges::any_of(after.proto.graph().node(), [](const auto& node) { return node.name() == "scale"; }))
      << "nothing is left of it";
  for (const onnx::NodeProto& node : after.proto.graph().node()) {
    if (node.name() == "mask") {
      EXPECT_EQ(node.input(0), "l") << "what the mask is added to has its name still";
    }
  }
}

TEST(ScaleAttention, WhatIsLeftOfTheScaleStaysBehind) {
  AttentionNet net("[scale] l = Div(s, six)");
  const Model after = net.after();
  EXPECT_EQ(values_of(after, "wq")[1], values_of(net.bench.model, "wq")[1] / 8);
  EXPECT_EQ(values_of(after, "scale.left"), std::vector<float>{0.75F});
}

TEST(ScaleAttention, QueriesThatNothingConstantMakesGetAMul) {
  AttentionNet net("[scale] l = Div(s, eight)", "[q] a = MatMul(x, wq)\n [norm] b = Softmax(a)\n");
  const Model after = net.after();
  EXPECT_EQ(values_of(after, "wq"), values_of(net.bench.model, "wq"));
  EXPECT_EQ(values_of(after, "qk.power"), std::vector<float>{0.125F});
  for (const onnx::NodeProto& node : after.proto.graph().node()) {
    if (node.name() == "qk") {
      EXPECT_EQ(node.input(0), "b.scaled");
    }
  }
}

TEST(ScaleAttention, RefusesWithAReason) {
  EXPECT_EQ(AttentionNet("[scale] l = Mul(s, twice)").proposal().why_not, "its scale does not make values smaller");
  EXPECT_EQ(AttentionNet("[scale] l = Mul(s, m)").proposal().why_not, "its scale is not a constant number");
  EXPECT_EQ(AttentionNet("[scale] l = Relu(s)").proposal().why_not, "Relu reads it, which is not a scale");
  AttentionNet beyond("[scale] l = Div(s, eight)", "[q] a = MatMul(x, wq)\n [bias] b = Add(bq, a)\n", 1e6F);
  EXPECT_EQ(beyond.proposal().why_not, "it reaches 1.25e+05 after its scale too");
  AttentionNet small("[scale] l = Div(s, eight)", "[q] a = MatMul(x, wq)\n [bias] b = Add(bq, a)\n", 6e4F);
  EXPECT_TRUE(scale_attentions(small.bench.network(), 0).empty()) << "float16 holds the sums";
}

}  // namespace
}  // namespace vernier::testing
