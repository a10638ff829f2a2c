#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "bench.h"
#include "repairs/channel_rotation.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

TEST(ChannelRotation, KeepsLengthsAndSpreadsOneChannel) {
  for (const bool keeps_mean : {false, true}) {
    for (const std::size_t width : {4U, 8U, 48U, 64U, 96U, 320U, 768U}) {
      ASSERT_TRUE(ChannelRotation::fits(width));
      const ChannelRotation rotation(width, keeps_mean);
      std::vector<std::vector<double>> rows;
      double largest = 0;
      for (std::size_t i = 0; i < width; ++i) {
        std::vector<double> row(width, 0);
        row[i] = 1;
        rotation.turn(row);
        double sum = 0;
        double squares = 0;
        for (const double value : row) {
          sum += value;
          squares += value * value;
          largest = std::max(largest, std::abs(value));
        }
        EXPECT_NEAR(squares, 1, 1e-12);
        if (keeps_mean) {
          EXPECT_NEAR(sum, 1, 1e-12);
        }
        double with_first = 0;
        for (std::size_t j = 0; j < width && i > 0; ++j) with_first += row[j] * rows[0][j];
        EXPECT_NEAR(with_first, 0, 1e-12);
        rows.push_back(row);
      }
      EXPECT_LT(largest * std::sqrt(static_cast<double>(width)), 4) << width;
    }
  }
  EXPECT_FALSE(ChannelRotation::fits(1601));
}

/// Two blocks, an embedding and a head; `body` is between x0 and x2, [2,3,8] both.
struct Blocks {
  Bench bench;
  explicit Blocks(const std::string& body) : bench(made(body), Format::Int8) {}
  static Model made(const std::string& body) {
    std::map<std::string, Tensor> weights = {{"table", {}}, {"g", {}}, {"h", {}}, {"a", {}}, {"b", {}}, {"head", {}}};
    const std::map<std::string, Shape> shapes = {{"table", {10, 8}}, {"g", {8}},     {"h", {8}},
                                                 {"a", {8, 12}},     {"b", {12, 8}}, {"head", {8, 5}}};
    for (auto& [name, value] : weights) {
      value = filled(shapes.at(name), [](int i) { return std::sin(1.0F + static_cast<float>(i * i)); });
    }
    return parsed("g (int64[2,3] ids) => (float[2,3,5] y) { [embed] x0 = Gather(table, ids)\n " + body +
                      "[last] n3 = LayerNormalization(x2, g, h)\n [head] y = MatMul(n3, head) }",
                  weights);
  }
  std::vector<Proposal> proposals() { return rotate_streams(bench.network(), 0); }
};

const std::string kTwoBlocks =
    "[n1] n1 = LayerNormalization(x0, g, h)\n [u1] u1 = MatMul(n1, a)\n [v1] v1 = Relu(u1)\n [w1] w1 = MatMul(v1, b)\n "
    "[x1] x1 = Add(x0, w1)\n [n2] n2 = LayerNormalization(x1, g, h)\n [u2] u2 = MatMul(n2, a)\n [v2] v2 = Relu(u2)\n "
    "[w2] w2 = MatMul(v2, b)\n [x2] x2 = Add(w2, x1)\n ";

TEST(RotateStreams, AStreamIsOneProposal) {
  Blocks net(kTwoBlocks);
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  ASSERT_EQ(proposals[0].why_not, "");
  std::vector<std::string> layers = proposals[0].layers;
  std::ranges::sort(layers);
  EXPECT_EQ(layers, (std::vector<std::string>{"head", "u1", "u2", "w1", "w2"}));
  Model after = net.bench.model;
  proposals[0].rewrite(after);
  // Both norms read g and h, both products a and b: what became equal is shared, what did not is not.
  const onnx::GraphProto& graph = after.proto.graph();
  std::map<std::string, std::string> second;  // input of each node
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.input_size() > 1) second[node.name()] = node.input(1);
  }
  EXPECT_EQ(second.at("n1"), second.at("n2"));
  EXPECT_EQ(second.at("w1"), second.at("w2"));
  for (const float value : values_of(after, second.at("n1"))) EXPECT_EQ(value, 1);
  // What the norms added is behind the products now, which had no biases.
  EXPECT_EQ(graph.node_size(), net.bench.model.proto.graph().node_size() + 3);
}

TEST(RotateStreams, AProductIsAddedWhereSomethingElseReadsTheStream) {
  Blocks net("[more] z = Sigmoid(x1)\n [odd] zz = ReduceMax(z)\n [plus] u3 = Add(u2, zz)\n " + kTwoBlocks);
  // The text form wants an order; the model is sorted when it is read.
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  EXPECT_NE(proposals[0].what.find("1 product added"), std::string::npos) << proposals[0].what;
}

TEST(RotateStreams, ManyOtherReadersAreAReason) {
  // Norms behind the additions: each writes the stream with a scale of its own.
  Blocks net(
      "[u1] u1 = MatMul(x0, a)\n [v1] v1 = Relu(u1)\n [w1] w1 = MatMul(v1, b)\n [m1] m1 = LayerNormalization(w1, g, "
      "h)\n "
      "[x1] x1 = Add(x0, m1)\n [n1] n1 = LayerNormalization(x1, g, h)\n [u2] u2 = MatMul(n1, a)\n [v2] v2 = Relu(u2)\n "
      "[w2] w2 = MatMul(v2, b)\n [m2] m2 = LayerNormalization(w2, g, h)\n [x2] x2 = Add(m2, x1)\n ");
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not,
            "the matrix would need 2 products, the first for 'm1' (LayerNormalization 'm1' computes it): too many for "
            "3 layers");
}

TEST(RotateStreams, WeightsOnAGridAreLeftAlone) {
  Blocks net(kTwoBlocks);
  set_initializer(net.bench.model, *net.bench.model.proto.mutable_graph(), "a",
                  filled({8, 12}, [](int i) { return 0.25F * static_cast<float>(i * 37 % 25 - 12); }));
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "its weights are multiples of one scale, and the matrix would break that");
}

TEST(RotateStreams, WithoutAnAdditionThereIsNoStream) {
  Blocks net("[n1] n1 = LayerNormalization(x0, g, h)\n [u1] u1 = MatMul(n1, a)\n [w1] x2 = MatMul(u1, b)\n ");
  EXPECT_TRUE(net.proposals().empty());
}

}  // namespace
}  // namespace vernier::testing
