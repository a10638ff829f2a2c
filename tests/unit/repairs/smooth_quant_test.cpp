#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench.h"
#include "repairs/repair.h"

namespace vernier::testing {
namespace {

/// norm(x) g + b, read by two weights; channel 1 of the activation is 16 times as large as the others.
struct Norm {
  Bench bench;
  explicit Norm(const std::string& nodes, Format format = Format::Int8) : bench(made(nodes), format) {
    bench.channels["n"] = {1, 16, 1, 1};
  }
  static Tensor rows_of(std::int64_t channels) {  // the shape of a Reshape
    return Tensor::of_int64(Shape{2}, std::vector<std::int64_t>{-1, channels});
  }
  static Model made(const std::string& nodes) {
    Model model = parsed("g (float[2,4] x) => (float[2,4] q, float[2,4] k) { " + nodes + " }", {{"g", zeros({4})},
                                                                                                {"b", zeros({4})},
                                                                                                {"wq", zeros({4, 4})},
                                                                                                {"wk", zeros({4, 4})},
                                                                                                {"rows", rows_of(4)},
                                                                                                {"two", rows_of(2)},
                                                                                                {"half", zeros({1})}});
    onnx::GraphProto& graph = *model.proto.mutable_graph();
    set_initializer(model, graph, "g", filled({4}, [](int i) { return i == 1 ? 16.0F : 1.0F; }));
    set_initializer(model, graph, "b", filled({4}, [](int i) { return 0.5F * static_cast<float>(i); }));
    for (const char* name : {"wq", "wk"}) {
      set_initializer(model, graph, name, filled({4, 4}, [](int i) { return std::sin(1.0F + static_cast<float>(i)); }));
    }
    return model;
  }
  std::vector<Proposal> proposals() { return smooth_quant(bench.network(), 0); }
};

constexpr const char* kTwoReaders = "[q] q = MatMul(n, wq)\n [k] k = Gemm<transB = 1>(n, wk)";

TEST(SmoothQuant, TheScaleOfANormTakesTheFactors) {
  for (const char* norm :
       {"[norm] n = LayerNormalization(x, g, b)\n ", "[mul] m = Mul(g, x)\n [add] n = Add(m, b)\n "}) {
    Norm net(std::string(norm) + kTwoReaders);
    const auto proposals = net.proposals();
    ASSERT_EQ(proposals.size(), 1U) << norm;
    ASSERT_EQ(proposals[0].why_not, "") << norm;
    EXPECT_EQ(proposals[0].layers, (std::vector<std::string>{"q", "k"}));
    Model after = net.bench.model;
    proposals[0].rewrite(after);
    const Tensor g = *initializer(after, "g");
    EXPECT_LT(g.floats()[1] / g.floats()[0], 8) << norm;  // the channels are nearer to each other
    for (std::size_t j = 0; j < 4; ++j) {
      // Exactly what it was: factors are powers of two.
      const float factor = initializer(net.bench.model, "g")->floats()[j] / g.floats()[j];
      EXPECT_EQ(initializer(after, "b")->floats()[j] * factor, initializer(net.bench.model, "b")->floats()[j]);
      for (std::size_t m = 0; m < 4; ++m) {
        const auto weight = [&](const Model& model, const char* name, std::size_t at) {
          return initializer(model, name)->floats()[at];
        };
        EXPECT_EQ(weight(after, "wq", 4 * j + m), weight(net.bench.model, "wq", 4 * j + m) * factor);
        EXPECT_EQ(weight(after, "wk", 4 * m + j), weight(net.bench.model, "wk", 4 * m + j) * factor);
      }
    }
  }
}

// The half behind a GELU in pieces.
TEST(SmoothQuant, OneFactorBecomesOneForEachChannelInItsRank) {
  Norm net("[half] n = Mul(x, half)\n " + std::string(kTwoReaders));
  onnx::GraphProto& graph = *net.bench.model.proto.mutable_graph();
  for (const Shape& shape : {Shape{}, Shape{1, 1}}) {
    Tensor half(Dtype::Float32, shape);
    half.mutable_floats()[0] = 0.5F;
    set_initializer(net.bench.model, graph, "half", half);
    const auto proposals = net.proposals();
    ASSERT_EQ(proposals.size(), 1U);
    ASSERT_EQ(proposals[0].why_not, "");
    Model after = net.bench.model;
    proposals[0].rewrite(after);
    const Tensor wide = *initializer(after, "half");
    EXPECT_EQ(wide.shape(), shape.empty() ? (Shape{4}) : (Shape{1, 4}));
    EXPECT_LT(wide.floats()[1], wide.floats()[0]);
  }
}

// One value says nothing of what it is multiplied with: here of 2 elements in a row, which a Reshape makes 4.
TEST(SmoothQuant, OneFactorOfOtherRowsStays) {
  Norm net("[pairs] p = Reshape(x, two)\n [half] h = Mul(p, half)\n [rows] n = Reshape(h, rows)\n " +
           std::string(kTwoReaders));
  onnx::GraphProto& graph = *net.bench.model.proto.mutable_graph();
  set_initializer(net.bench.model, graph, "half", filled({1}, [](int) { return 0.5F; }));
  for (const Proposal& proposal : net.proposals()) EXPECT_NE(proposal.why_not, "");
}

TEST(SmoothQuant, WhoAsksForTheShapeDoesNotMind) {
  Norm net("[norm] n = LayerNormalization(x, g, b)\n [s] s = Shape(n)\n " + std::string(kTwoReaders));
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
}

TEST(SmoothQuant, ANormThatOthersReadIsRefusedWithAReason) {
  Norm net("[norm] n = LayerNormalization(x, g, b)\n [q] q = MatMul(n, wq)\n [k] k = Relu(n)");
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "'n' has readers other than the weights that could take the factors");
}

TEST(SmoothQuant, AScaleThatOthersReadIsCopied) {
  Norm net("[s] s = Relu(x)\n [mul] n = Mul(x, s)\n " + std::string(kTwoReaders));
  EXPECT_TRUE(net.proposals().empty());  // no constant that could take them
  Norm one("[mul] n = Mul(x, b)\n [a] a = Mul(x, b)\n [q] q = MatMul(n, wq)\n [k] k = MatMul(n, wk)");
  const auto proposals = one.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  ASSERT_EQ(proposals[0].why_not, "");
  Model after = one.bench.model;
  proposals[0].rewrite(after);
  EXPECT_EQ(after.proto.graph().node(0).input(1), "b#2");
  EXPECT_EQ(after.proto.graph().node(1).input(1), "b");
  EXPECT_EQ(initializer(after, "b")->floats()[2], initializer(one.bench.model, "b")->floats()[2]);
  EXPECT_NE(initializer(after, "b#2")->floats()[2], initializer(after, "b")->floats()[2]);
}

TEST(SmoothQuant, GoesThroughWhatLeavesTheChannelsLast) {
  const std::string norm = "[norm] n0 = LayerNormalization(x, g, b)\n ";
  for (const char* passage : {"[pass] n = Reshape(n0, rows)\n ", "[pass] n = Transpose<perm = [0, 1]>(n0)\n ",
                              "[first] n1 = Reshape(n0, rows)\n [pass] n = Reshape(n1, rows)\n "}) {
    const auto proposals = Norm(norm + passage + kTwoReaders).proposals();
    ASSERT_EQ(proposals.size(), 1U) << passage;
    EXPECT_EQ(proposals[0].why_not, "") << passage;
    EXPECT_EQ(proposals[0].layers, (std::vector<std::string>{"q", "k"})) << passage;
    const auto refused = Norm(norm + passage + "[q] q = MatMul(n, wq)\n [k] k = Relu(n0)").proposals();
    ASSERT_EQ(refused.size(), 1U) << passage;
    EXPECT_EQ(refused[0].why_not, "'n0' has readers other than the weights that could take the factors") << passage;
  }
  Norm swapped(norm + "[pass] n = Transpose<perm = [1, 0]>(n0)\n " + kTwoReaders);  // other channels come last
  EXPECT_TRUE(swapped.proposals().empty());
}

TEST(SmoothQuant, TheWorstLayerChoosesItsPairFirst) {
  const Tensor weight = filled({4, 4, 1, 1}, [](int i) { return std::sin(1.0F + static_cast<float>(i)); });
  Bench bench(parsed("g (float[1,4,2,2] x) => (float[1,4,2,2] y) { [a] u = Conv(x, wa)\n [b] v = Conv(u, wb)\n"
                     " [c] w = Conv(v, wc)\n [d] y = Conv(w, wd) }",
                     {{"wa", weight}, {"wb", weight}, {"wc", weight}, {"wd", weight}}),
              Format::Int8);
  for (const char* tensor : {"u", "v", "w"}) bench.channels[tensor] = {1, 16, 1, 1};
  const auto pairs = [&] {
    std::vector<std::vector<std::string>> layers;
    for (const Proposal& proposal : smooth_quant(bench.network(), 0)) layers.push_back(proposal.layers);
    return layers;
  };
  EXPECT_EQ(pairs(), (std::vector<std::vector<std::string>>{{"a", "b"}, {"c", "d"}}));
  bench.noise = {{"b", 1e-3}, {"c", 0.3}, {"d", 1e-3}};
  EXPECT_EQ(pairs(), (std::vector<std::vector<std::string>>{{"b", "c"}}));
}

TEST(SmoothQuant, AllConvolutionsThatReadAChannelTakeItsFactor) {
  const Tensor weight = filled({4, 4, 1, 1}, [](int i) { return std::sin(1.0F + static_cast<float>(i)); });
  const Tensor by_channel = filled({4, 1, 1, 1}, [](int i) { return 1.0F + static_cast<float>(i); });
  for (const char* first : {"Conv <group = 4>", "ConvTranspose <group = 4>"}) {
    Bench bench(parsed("g (float[1,4,2,2] x) => (float[1,4,2,2] y, float[1,4,2,2] z) { [a] u = " + std::string(first) +
                           "(x, wa)\n [r] v = Relu(u)\n [b] y = Conv(v, wb)\n [c] z = Conv(v, wc) }",
                       {{"wa", by_channel}, {"wb", weight}, {"wc", weight}}),
                Format::Int8);
    bench.channels["v"] = {1, 16, 1, 1};
    const auto proposals = smooth_quant(bench.network(), 0);
    ASSERT_EQ(proposals.size(), 1U) << first;
    EXPECT_EQ(proposals[0].layers, (std::vector<std::string>{"a", "b", "c"}));
    Model after = bench.model;
    proposals[0].rewrite(after);
    for (std::size_t i = 0; i < 16; ++i) {
      const float factor = by_channel.floats()[i % 4] / initializer(after, "wa")->floats()[i % 4];
      for (const char* reader : {"wb", "wc"}) {
        EXPECT_EQ(initializer(after, reader)->floats()[i], weight.floats()[i] * factor) << first << reader;
      }
    }
    EXPECT_GT(initializer(after, "wa")->floats()[0], 1) << "the small channels are larger";
  }
}

TEST(SmoothQuant, ChannelsOfLikeSizeNeedNothing) {
  Norm net("[norm] n = LayerNormalization(x, g, b)\n " + std::string(kTwoReaders));
  net.bench.channels["n"] = {1, 1, 1, 1};
  for (const char* name : {"wq", "wk"}) {
    set_initializer(net.bench.model, *net.bench.model.proto.mutable_graph(), name,
                    filled({4, 4}, [](int) { return 0.37F; }));
  }
  EXPECT_TRUE(net.proposals().empty());
}

}  // namespace
}  // namespace vernier::testing
