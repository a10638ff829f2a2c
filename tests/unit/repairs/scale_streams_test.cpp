#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

/// One block and a head on a stream of 4 channels; `end` may read it, too.
struct LargeStream {
  Bench bench;
  explicit LargeStream(const std::string& end = "", Format format = Format::Float16) : bench(made(end), format) {
    bench.ranges["x1"] = bench.ranges["w1"] = {-1e5F, 2e5F, 10, 0};
  }
  static Model made(const std::string& end) {
    std::map<std::string, Tensor> weights;
    const std::map<std::string, Shape> shapes = {{"table", {10, 4}}, {"g", {4}},    {"h", {4}},
                                                 {"a", {4, 6}},      {"b", {6, 4}}, {"head", {4, 5}}};
    for (const auto& [name, shape] : shapes) {
      weights[name] = filled(shape, [](int i) { return std::sin(1.0F + static_cast<float>(i * i)); });
    }
    return parsed(
        "g (int64[2,3] ids) => (float[2,3,5] y, float[2,3,4] z) { [embed] x0 = Gather(table, ids)\n "
        "[n1] n1 = LayerNormalization<epsilon = 0.001>(x0, g, h)\n [u1] u1 = MatMul(n1, a)\n [w1] w1 = MatMul(u1, b)\n "
        "[x1] x1 = Add(x0, w1)\n [n2] n2 = LayerNormalization<epsilon = 0.001>(x1, g, h)\n [head] y = MatMul(n2, "
        "head)\n " +
            (end.empty() ? std::string("[z] z = Sigmoid(n2)") : end) + " }",
        weights);
  }
  std::vector<Proposal> proposals() { return scale_streams(bench.network(), 0); }
};

TEST(ScaleStreams, WritersGetAPowerOfTwoAndEpsilonsItsSquare) {
  LargeStream net;
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  ASSERT_EQ(proposals[0].why_not, "");
  EXPECT_EQ(proposals[0].what, "the residual stream reaches 2e+05 and is stored at 1/16 of its size");
  Model after = net.bench.model;
  proposals[0].rewrite(after);
  for (const char* written : {"table", "b"}) {
    const std::vector<float> before = values_of(net.bench.model, written);
    const std::vector<float> now = values_of(after, written);
    for (std::size_t i = 0; i < now.size(); ++i) EXPECT_EQ(now[i], before[i] / 16) << written;
  }
  for (const char* read : {"a", "head", "g", "h"}) EXPECT_EQ(values_of(after, read), values_of(net.bench.model, read));
  for (const onnx::NodeProto& node : after.proto.graph().node()) {
    if (node.op_type() == "LayerNormalization") {
      EXPECT_FLOAT_EQ(attribute_float(node, "epsilon", 0), 0.001F / 256);
    }
  }
}

TEST(ScaleStreams, WhatElseReadsItIsAReasonIfItIsTooLargeItself) {
  const auto proposals = LargeStream("[z] z = Sigmoid(x1)").proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "another layer also reads 'x1', which exceeds the format by itself");
}

TEST(ScaleStreams, StreamsInsideTheFormatNeedNothing) {
  LargeStream net;
  net.bench.ranges.clear();
  EXPECT_TRUE(net.proposals().empty());
  EXPECT_TRUE(LargeStream("", Format::BFloat16).proposals().empty());
}

}  // namespace
}  // namespace vernier::testing
