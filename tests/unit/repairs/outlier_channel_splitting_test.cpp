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

/// x -> first -> act -> second: 16 channels between, of which number 3 is to be split.
struct SplitNet {
  Bench bench;
  explicit SplitNet(const std::string& between, const std::string& more = "", Format format = Format::Int8)
      : bench(made(between, more), format) {
    bench.noise["second"] = 0.1;
    bench.channels["r"] = std::vector<float>(16, 1.0F);
    bench.channels["r"][3] = 20;
  }
  static Model made(const std::string& between, const std::string& more) {
    Model model =
        parsed("g (float[1,4] x) => (float[1,4] y" + std::string(more.empty() ? "" : ", float[1,16] z") +
                   ") { [first] a = Gemm(x, w1, b1)\n " + between + "\n [second] y = MatMul(r, w2)\n" + more + " }",
               {{"w1", zeros({4, 16})}, {"b1", zeros({16})}, {"w2", zeros({16, 4})}, {"slope", zeros({16})}});
    onnx::GraphProto& graph = *model.proto.mutable_graph();
    set_initializer(model, graph, "w1", filled({4, 16}, [](int i) { return std::sin(1.0F + static_cast<float>(i)); }));
    set_initializer(model, graph, "b1", filled({16}, [](int i) { return 0.1F * static_cast<float>(i); }));
    set_initializer(model, graph, "slope", filled({16}, [](int i) { return 1.0F + static_cast<float>(i); }));
    set_initializer(model, graph, "w2", filled({16, 4}, [](int i) {
                      return (i / 4 == 3 ? 20.0F : 1.0F) * std::cos(static_cast<float>(i));
                    }));
    return model;
  }
  Model after(int round) {
    const auto proposals = outlier_channel_splitting(bench.network(), round);
    EXPECT_EQ(proposals.size(), 1U);
    EXPECT_EQ(proposals.at(0).why_not, "");
    EXPECT_EQ(proposals.at(0).layers, std::vector<std::string>{"second"});
    Model model = bench.model;
    proposals.at(0).rewrite(model);
    return model;
  }
  std::string reason(int round) { return outlier_channel_splitting(bench.network(), round).at(0).why_not; }
};

TEST(OutlierChannelSplitting, PartsOfAWeightSumToItAndSoDoTheirCodes) {
  SplitNet net("[act] r = Sigmoid(a)");
  const Model after = net.after(1);
  EXPECT_EQ(initializer(after, "w1")->shape(), (Shape{4, 17}));
  EXPECT_EQ(initializer(after, "b1")->shape(), (Shape{17}));
  const std::vector<float> w1 = values_of(after, "w1");
  for (std::size_t k = 0; k < 4; ++k) EXPECT_EQ(w1[17 * k + 16], w1[17 * k + 3]) << "made twice as it was";
  const std::vector<float> old = values_of(net.bench.model, "w2");
  const std::vector<float> parts = values_of(after, "w2");
  ASSERT_EQ(parts.size(), 17U * 4);
  float largest = 0;
  for (const float part : parts) largest = std::max(largest, std::abs(part));
  const float step = largest / 127;
  for (std::size_t m = 0; m < 4; ++m) {
    const float one = parts[3 * 4 + m];
    const float other = parts[16 * 4 + m];
    EXPECT_NEAR(one + other, old[3 * 4 + m], 1e-5F);
    // As near as the code of the whole would be, and not half a step off in each part.
    EXPECT_NEAR(std::nearbyint(one / step) + std::nearbyint(other / step), old[3 * 4 + m] / step, 0.501F);
    EXPECT_EQ(parts[m], old[m]) << "other channels stay";
  }
  EXPECT_LT(largest, 0.51F * 20);
}

TEST(OutlierChannelSplitting, AnActivationIsHalvedWhereItIsMade) {
  SplitNet net("[bias] s = Add(slope, a)\n [act] r = Relu(s)");
  const Model after = net.after(0);
  const std::vector<float> old = values_of(net.bench.model, "w1");
  const std::vector<float> w1 = values_of(after, "w1");
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_EQ(w1[17 * k + 3], 0.5F * old[16 * k + 3]);
    EXPECT_EQ(w1[17 * k + 16], 0.5F * old[16 * k + 3]);
    EXPECT_EQ(w1[17 * k + 4], old[16 * k + 4]);
  }
  for (const char* bias : {"b1", "slope"}) {
    EXPECT_EQ(values_of(after, bias)[16], 0.5F * values_of(net.bench.model, bias)[3]) << bias;
    EXPECT_EQ(values_of(after, bias)[3], 0.5F * values_of(net.bench.model, bias)[3]) << bias;
  }
  const std::vector<float> w2 = values_of(after, "w2");
  for (std::size_t m = 0; m < 4; ++m) EXPECT_EQ(w2[16 * 4 + m], w2[3 * 4 + m]);
}

TEST(OutlierChannelSplitting, ConstantsOnTheWayGetAValueForEachCopy) {
  SplitNet net("[gain] r = Mul(a, slope)");
  const Model after = net.after(0);
  ASSERT_EQ(values_of(after, "slope").size(), 17U);
  EXPECT_EQ(values_of(after, "slope")[16], 4.0F) << "a factor is no sum: it stays what it was";
}

TEST(OutlierChannelSplitting, ConvolutionsAreSplitAlongTheirInputChannels) {
  Model model = parsed(
      "g (float[1,2,4,4] x) => (float[1,2,4,4] y) {"
      " [first] a = Conv(x, w1)\n [act] r = Relu(a)\n [second] y = Conv(r, w2) }",
      {{"w1", zeros({8, 2, 1, 1})}, {"w2", zeros({2, 8, 1, 1})}});
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  set_initializer(model, graph, "w1",
                  filled({8, 2, 1, 1}, [](int i) { return std::sin(1.0F + static_cast<float>(i)); }));
  set_initializer(model, graph, "w2",
                  filled({2, 8, 1, 1}, [](int i) { return i % 8 == 5 ? 9.0F : std::sin(static_cast<float>(i)); }));
  Bench bench(std::move(model), Format::Int8);
  bench.noise["second"] = 0.1;
  // A step for each result: both are set by channel 5.
  bench.plan.tensors["w2"].scale = {9.0F / 127, 9.0F / 127};
  bench.plan.tensors["w2"].axis = 0;
  const auto proposals = outlier_channel_splitting(bench.network(), 1);
  ASSERT_EQ(proposals.size(), 1U);
  Model after = bench.model;
  proposals[0].rewrite(after);
  EXPECT_EQ(initializer(after, "w1")->shape(), (Shape{9, 2, 1, 1}));
  EXPECT_EQ(initializer(after, "w2")->shape(), (Shape{2, 9, 1, 1}));
  const std::vector<float> parts = values_of(after, "w2");
  for (std::size_t o = 0; o < 2; ++o) EXPECT_NEAR(parts[9 * o + 5] + parts[9 * o + 8], 9.0F, 1e-5F);
}

TEST(OutlierChannelSplitting, RefusesWithAReason) {
  EXPECT_EQ(SplitNet("[act] r = Sigmoid(a)").reason(0), "no factor can pass Sigmoid 'act' before it");
  EXPECT_EQ(SplitNet("[size] s = Abs(a)\n [act] r = Div(a, s)").reason(0), "no factor can pass Div 'act' before it")
      << "both sides have it, the quotient not at all";
  EXPECT_EQ(SplitNet("[act] r = Softmax(a)").reason(1),
            "Softmax 'act' before it mixes channels or computes them itself");
  EXPECT_EQ(SplitNet("[act] r = Relu(a)", " [else] z = Neg(r)").reason(1), "other layers also read 'r'");
  SplitNet grid("[act] r = Relu(a)");
  set_initializer(grid.bench.model, *grid.bench.model.proto.mutable_graph(), "w2",
                  filled({16, 4}, [](int i) { return i == 12 ? 1.2F : 0.01F * static_cast<float>(i % 41 - 20); }));
  EXPECT_EQ(grid.reason(1), "its weights are multiples of one scale, and splitting would break that");
  Model plain = parsed("g (float[1,16] r) => (float[1,4] y) { [second] y = MatMul(r, w2) }", {{"w2", zeros({16, 4})}});
  set_initializer(plain, *plain.proto.mutable_graph(), "w2",
                  filled({16, 4}, [](int i) { return i == 3 ? 9.0F : std::sin(static_cast<float>(i)); }));
  Bench input(std::move(plain), Format::Int8);
  input.noise["second"] = 0.1;
  EXPECT_EQ(outlier_channel_splitting(input.network(), 1).at(0).why_not,
            "'r' is an input of the network, so no layer computes its channels");
}

TEST(OutlierChannelSplitting, ProposesNothingForAGoodLayerOrChannelsOfOneSize) {
  SplitNet good("[act] r = Relu(a)");
  good.bench.noise["second"] = 1e-4;
  EXPECT_TRUE(outlier_channel_splitting(good.bench.network(), 0).empty());
  SplitNet alike("[act] r = Relu(a)");
  alike.bench.channels["r"] = std::vector<float>(16, 1.0F);
  EXPECT_TRUE(outlier_channel_splitting(alike.bench.network(), 0).empty());
}

}  // namespace
}  // namespace vernier::testing
