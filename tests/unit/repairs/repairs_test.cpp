// What each repair proposes, and what it refuses with a reason. Whether a proposal helps is the ladder's to measure,
// and whether a rewrite is neutral; both are tested with the program (tests/cli/fix.test).
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "numerics/lattice.h"
#include "numerics/tensor_grid.h"
#include "repairs/repair.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

Tensor filled(const Shape& shape, const std::function<float(int)>& value) {
  Tensor tensor(Dtype::Float32, shape);
  for (int i = 0; i < static_cast<int>(tensor.count()); ++i) {
    tensor.mutable_floats()[static_cast<std::size_t>(i)] = value(i);
  }
  return tensor;
}

/// `weights`: declared in the text, with values here.
Model parsed(const std::string& graph, const std::map<std::string, Tensor>& weights = {}) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, (R"(<ir_version: 8, opset_import: ["" : 17]> )" + graph).c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  for (const auto& [name, value] : weights) *proto.mutable_graph()->add_initializer() = proto_of(value, name);
  return adopt_model(proto);
}

Tensor zeros(const Shape& shape) {
  return filled(shape, [](int) { return 0.0F; });
}

struct Bench {
  Model model;
  Plan plan;
  std::vector<Layer> layers;
  std::map<std::string, RangeStats> ranges;
  std::map<std::string, HalvedHistogram> histograms;
  std::map<std::string, std::vector<float>> channels;
  std::map<std::string, std::vector<double>> mean_error;
  std::map<std::string, double> weight_share;
  std::map<std::string, double> noise;
  std::map<std::string, InputProducts> measured;
  std::function<std::map<std::string, InputProducts>(const std::vector<std::string>&)> products =
      [this](const std::vector<std::string>&) { return measured; };

  Bench(Model made, Format format) : model(std::move(made)), layers(find_layers(model)) {
    for (const Layer& layer : layers) {
      plan.layers.push_back({layer.name, format});
      for (const std::string& weight : layer.weights) {
        const Tensor value = *initializer(model, weight);
        QuantParams along;
        if (needs_scale(format)) {
          plan.tensors[weight] = symmetric_params(format, absmax_of_scales(along, value.shape(), value.floats()), -1);
        }
      }
    }
  }
  Network network() {
    return {model, layers, plan, ranges, histograms, channels, mean_error, weight_share, noise, products};
  }
};

Model two_convolutions(const std::string& between) {
  Model model = parsed(
      "g (float[1,2,4,4] x) => (float[1,2,4,4] y)  {"
      " [first] a = Conv(x, w1, b1)\n " +
          between + " [second] y = Conv(r, w2) }",
      {{"w1", zeros({4, 2, 1, 1})},
       {"b1", zeros({4})},
       {"w2", zeros({2, 4, 1, 1})},
       {"zero", zeros({})},
       {"six", zeros({})}});
  return model;
}

TEST(Lattice, FindsTheStepOfQuantizedWeights) {
  const Tensor w = filled({64}, [](int i) { return 0.0123F * static_cast<float>(i % 41 - 20); });
  const auto lattice = lattice_of(w.floats());
  ASSERT_TRUE(lattice);
  EXPECT_NEAR(lattice->step, 0.0123, 1e-7);
  EXPECT_EQ(lattice->largest, 20);
  EXPECT_EQ(lattice->beyond(19, w.floats()), 3);
}

TEST(Lattice, OrdinaryWeightsLieOnNone) {
  EXPECT_FALSE(lattice_of(filled({64}, [](int i) { return std::sin(static_cast<float>(i)); }).floats()));
  // Nearly on a grid is not on it.
  EXPECT_FALSE(lattice_of(filled({64}, [](int i) {
                            return 0.0123F *
                                   (static_cast<float>(i % 41 - 20) + 0.05F * std::sin(static_cast<float>(i)));
                          }).floats()));
}

TEST(Lattice, TooFewValuesTellNothing) {
  EXPECT_FALSE(lattice_of(filled({8}, [](int i) { return static_cast<float>(i); }).floats()));
  EXPECT_FALSE(lattice_of(filled({64}, [](int i) { return static_cast<float>(i % 3); }).floats()));
  EXPECT_FALSE(lattice_of(filled({64}, [](int) { return 0.0F; }).floats()));
  EXPECT_FALSE(lattice_of(filled({64}, [](int i) { return i == 5 ? INFINITY : static_cast<float>(i); }).floats()));
}

TEST(WeightGrid, ProposesTheStepThatTheWeightsLieOn) {
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

TEST(WeightGrid, RefusesOrdinaryWeightsWithAReason) {
  Model model = parsed("g (float[1,8] x) => (float[1,8] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({8, 8})}});
  set_initializer(model, *model.proto.mutable_graph(), "w",
                  filled({8, 8}, [](int i) { return std::sin(static_cast<float>(i)); }));
  Bench bench(std::move(model), Format::Int8);
  const auto proposals = recover_weight_grid(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "its weights lie on no grid of 8 bits");
}

/// What is proposed for `weights` of a MatMul under a target.
Proposal moved_zero(const Tensor& weights, const std::string& target) {
  Model model = parsed("g (float[1,8] x) => (float[1,8] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({8, 8})}});
  set_initializer(model, *model.proto.mutable_graph(), "w", weights);
  Bench bench(std::move(model), Format::Int8);
  bench.plan.target = target;
  if (target == "onnxruntime") bench.plan.layers.front().format = Format::UInt8;
  const auto proposals = move_weight_zeros(bench.network(), 0);
  EXPECT_EQ(proposals.size(), 1U);
  return proposals.at(0);
}

TEST(WeightZeroPoint, HoldsAGridThatReachesFartherOnOneSide) {
  const Tensor w = filled({8, 8}, [](int i) { return 0.01F * static_cast<float>(i * 37 % 64 * 4 - 95); });
  const Proposal proposal = moved_zero(w, "onnxruntime");
  EXPECT_EQ(proposal.what, "step 0.01 and zero point -30 in place of 0.0123622 and 0");
  std::vector<float> rounded(64);
  round_tensor(proposal.grids.at("w"), w.shape(), w.floats(), rounded);
  for (std::size_t i = 0; i < 64; ++i) EXPECT_NEAR(rounded[i], w.floats()[i], 1e-6F);
}

TEST(WeightZeroPoint, StretchesTheCodesOverOrdinaryWeights) {
  const Tensor w = filled({8, 8}, [](int i) { return 0.5F + std::sin(static_cast<float>(i)); });
  const QuantParams grid = moved_zero(w, "onnxruntime").grids.at("w");
  EXPECT_NEAR(grid.scale.front(), 2.0F / 255, 1e-5F);
  EXPECT_EQ(grid.zero_point, std::vector<std::int32_t>{-64});
}

TEST(WeightZeroPoint, RefusesWithAReason) {
  const Tensor sine = filled({8, 8}, [](int i) { return std::sin(static_cast<float>(i)); });
  EXPECT_EQ(moved_zero(sine, "onnxruntime").why_not, "its weights reach about as far on either side of zero");
  const Tensor grid = filled({8, 8}, [](int i) { return 0.01F * static_cast<float>(i * 37 % 64 - 20); });
  EXPECT_EQ(moved_zero(grid, "onnxruntime").why_not, "symmetric codes hold all steps of its grid");
  EXPECT_EQ(moved_zero(grid, "tensorrt").why_not, "target tensorrt takes no zero point of weights");
}

TEST(Equalize, GivesBothLayersWeightsOfLikeSize) {
  Model model = two_convolutions("[act] r = Relu(a)");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  set_initializer(model, graph, "w1", filled({4, 2, 1, 1}, [](int i) { return i < 2 ? 8.3F : 0.11F; }));
  set_initializer(model, graph, "b1", filled({4}, [](int i) { return 0.5F * static_cast<float>(i); }));
  set_initializer(model, graph, "w2", filled({2, 4, 1, 1}, [](int i) { return 0.3F + 0.01F * static_cast<float>(i); }));
  Bench bench(std::move(model), Format::Int8);
  const auto proposals = equalize_weights(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  Model scaled = bench.model;
  proposals[0].rewrite(scaled);
  const Tensor w1_tensor = *initializer(scaled, "w1");
  const auto w1 = w1_tensor.floats();
  const Tensor w2_tensor = *initializer(scaled, "w2");
  const auto w2 = w2_tensor.floats();
  const Tensor old1_tensor = *initializer(bench.model, "w1");
  const auto old1 = old1_tensor.floats();
  const Tensor old2_tensor = *initializer(bench.model, "w2");
  const auto old2 = old2_tensor.floats();
  // Factors of each channel cancel, bit for bit.
  for (std::size_t j = 0; j < 4; ++j) EXPECT_EQ(w1[2 * j] * w2[j], old1[2 * j] * old2[j]);
  EXPECT_LT(w1[0] / w1[2], 20);  // was 75
}

TEST(Equalize, ClipsEachChannelAtItsOwnEnd) {
  Model model = two_convolutions("[act] r = Clip(a, zero, six)");
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  set_initializer(model, graph, "zero", filled({}, [](int) { return 0.0F; }));
  set_initializer(model, graph, "six", filled({}, [](int) { return 6.0F; }));
  set_initializer(model, graph, "w1", filled({4, 2, 1, 1}, [](int i) { return i < 2 ? 8.3F : 0.11F; }));
  set_initializer(model, graph, "b1", filled({4}, [](int) { return 0.5F; }));
  set_initializer(model, graph, "w2", filled({2, 4, 1, 1}, [](int) { return 0.3F; }));
  Bench bench(std::move(model), Format::Int8);
  const auto proposals = equalize_weights(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  Model scaled = bench.model;
  proposals[0].rewrite(scaled);
  const auto ends = initializer(scaled, "act.ends");
  ASSERT_TRUE(ends);
  const float factor = initializer(bench.model, "w1")->floats()[0] / initializer(scaled, "w1")->floats()[0];
  EXPECT_EQ(ends->floats()[0], 6 / factor);
}

TEST(Equalize, AScaleForEachChannelLeavesNothingToDo) {
  Model model = two_convolutions("[act] r = Relu(a)");
  Bench bench(std::move(model), Format::Int8);
  bench.plan.tensors["w1"].scale = {1, 1, 1, 1};
  bench.plan.tensors["w1"].axis = 0;
  EXPECT_TRUE(equalize_weights(bench.network(), 0).empty());
}

/// norm(x) g + b, read by two weights; channel 1 of the activation is 16 times as large as the others.
struct Norm {
  Bench bench;
  explicit Norm(const std::string& nodes, Format format = Format::Int8) : bench(made(nodes), format) {
    bench.channels["n"] = {1, 16, 1, 1};
  }
  static Model made(const std::string& nodes) {
    Model model = parsed("g (float[2,4] x) => (float[2,4] q, float[2,4] k) { " + nodes + " }",
                         {{"g", zeros({4})}, {"b", zeros({4})}, {"wq", zeros({4, 4})}, {"wk", zeros({4, 4})}});
    onnx::GraphProto& graph = *model.proto.mutable_graph();
    set_initializer(model, graph, "g", filled({4}, [](int i) { return i == 1 ? 16.0F : 1.0F; }));
    set_initializer(model, graph, "b", filled({4}, [](int i) { return 0.5F * static_cast<float>(i); }));
    for (const char* name : {"wq", "wk"}) {
      set_initializer(model, graph, name, filled({4, 4}, [](int i) { return std::sin(1.0F + static_cast<float>(i)); }));
    }
    return model;
  }
  std::vector<Proposal> proposals() { return smooth_activations(bench.network(), 0); }
};

constexpr const char* kTwoReaders = "[q] q = MatMul(n, wq)\n [k] k = Gemm<transB = 1>(n, wk)";

TEST(Smooth, TheScaleOfANormTakesTheFactors) {
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

TEST(Smooth, WhoAsksForTheShapeDoesNotMind) {
  Norm net("[norm] n = LayerNormalization(x, g, b)\n [s] s = Shape(n)\n " + std::string(kTwoReaders));
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
}

TEST(Smooth, ANormThatOthersReadIsRefusedWithAReason) {
  Norm net("[norm] n = LayerNormalization(x, g, b)\n [q] q = MatMul(n, wq)\n [k] k = Relu(n)");
  const auto proposals = net.proposals();
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "'n' is read by others than the weights that could take the factors");
}

TEST(Smooth, AScaleThatOthersReadIsRefusedWithAReason) {
  Norm net("[s] s = Relu(x)\n [mul] n = Mul(x, s)\n " + std::string(kTwoReaders));
  Norm one("[mul] n = Mul(x, b)\n [a] a = Mul(x, b)\n [q] q = MatMul(n, wq)\n [k] k = MatMul(n, wk)");
  ASSERT_EQ(one.proposals().size(), 1U);
  EXPECT_EQ(one.proposals()[0].why_not, "something else reads 'b' too");
  EXPECT_TRUE(net.proposals().empty());  // no constant that could take them
}

TEST(Smooth, ChannelsOfLikeSizeNeedNothing) {
  Norm net("[norm] n = LayerNormalization(x, g, b)\n " + std::string(kTwoReaders));
  net.bench.channels["n"] = {1, 1, 1, 1};
  for (const char* name : {"wq", "wk"}) {
    set_initializer(net.bench.model, *net.bench.model.proto.mutable_graph(), name,
                    filled({4, 4}, [](int) { return 0.37F; }));
  }
  EXPECT_TRUE(net.proposals().empty());
}

/// Four inputs that go together, so that what one weight gets wrong another can take back.
InputProducts correlated(std::size_t inputs) {
  InputProducts products{1, inputs, std::vector<float>(inputs * inputs)};
  for (std::size_t i = 0; i < inputs; ++i) {
    for (std::size_t j = 0; j < inputs; ++j) products.sums[i * inputs + j] = i == j ? 1.0F : 0.9F;
  }
  return products;
}

/// Sum over the columns of d^T H d, d: what the rounded weight [K, results] is off.
double output_error(const Tensor& weight, const std::vector<float>& rounded, const InputProducts& products) {
  const std::size_t inputs = products.inputs;
  const std::size_t results = rounded.size() / inputs;
  double energy = 0;
  for (std::size_t m = 0; m < results; ++m) {
    for (std::size_t i = 0; i < inputs; ++i) {
      for (std::size_t j = 0; j < inputs; ++j) {
        const auto off = [&](std::size_t k) {
          return static_cast<double>(rounded[k * results + m]) - static_cast<double>(weight.floats()[k * results + m]);
        };
        energy += off(i) * static_cast<double>(products.sums[i * inputs + j]) * off(j);
      }
    }
  }
  return energy;
}

Model one_matmul(const Tensor& weight) {
  Model model = parsed("g (float[1,16] x) => (float[1,8] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({16, 8})}});
  set_initializer(model, *model.proto.mutable_graph(), "w", weight);
  return model;
}

Tensor waves() {
  return filled({16, 8}, [](int i) { return std::sin(1.7F * static_cast<float>(i)); });
}

TEST(RoundWeights, IsBetterAtTheOutputThanTheNearestCodes) {
  const Tensor weight = waves();
  Bench bench(one_matmul(weight), Format::Int4);
  bench.weight_share["mm"] = 0.9;
  bench.measured["mm"] = correlated(16);
  const auto proposals = round_weights(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  ASSERT_EQ(proposals[0].why_not, "");
  const std::vector<float>& rounded = proposals[0].constants.at("w").values;
  std::vector<float> nearest(rounded.size());
  std::vector<float> again(rounded.size());
  const QuantParams& grid = bench.plan.tensors.at("w");
  round_tensor(grid, weight.shape(), weight.floats(), nearest);
  round_tensor(grid, weight.shape(), rounded, again);
  EXPECT_EQ(again, rounded);  // on the grid
  EXPECT_LT(output_error(weight, rounded, bench.measured["mm"]),
            0.5 * output_error(weight, nearest, bench.measured["mm"]));
}

TEST(RoundWeights, InputsThatAreStrangersTakeTheNearestCodes) {
  const Tensor weight = waves();
  Bench bench(one_matmul(weight), Format::Int4);
  bench.weight_share["mm"] = 0.9;
  InputProducts products{1, 16, std::vector<float>(256)};
  for (std::size_t i = 0; i < 16; ++i) products.sums[17 * i] = 1.0F + static_cast<float>(i);
  bench.measured["mm"] = products;
  const auto proposals = round_weights(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  std::vector<float> nearest(128);
  round_tensor(bench.plan.tensors.at("w"), weight.shape(), weight.floats(), nearest);
  EXPECT_EQ(proposals[0].constants.at("w").values, nearest);
}

TEST(RoundWeights, RefusesWhatItCannotHelp) {
  const auto reason = [](Bench& bench) { return round_weights(bench.network(), 0).at(0).why_not; };
  Bench exact(one_matmul(waves()), Format::Int8);
  exact.weight_share["mm"] = 0.05;
  EXPECT_EQ(reason(exact), "its weights make 5 percent of its error, and less than 20 cannot help");
  Bench dead(one_matmul(waves()), Format::Int8);
  dead.weight_share["mm"] = 0.5;
  dead.measured["mm"] = {1, 16, std::vector<float>(256)};
  EXPECT_EQ(reason(dead), "its inputs are all zero, or not finite");
  Bench shared(parsed("g (float[1,8] x) => (float[1,8] y) { [one] a = MatMul(x, w)\n [two] y = MatMul(a, w) }",
                      {{"w", zeros({8, 8})}}),
               Format::Int8);
  shared.weight_share["one"] = 0.5;
  EXPECT_EQ(reason(shared), "another layer reads the same weight");
  Bench turned(parsed("g (float[1,2,4,4] x) => (float[1,2,4,4] y) { [up] y = ConvTranspose(x, w) }",
                      {{"w", zeros({2, 2, 1, 1})}}),
               Format::Int8);
  EXPECT_EQ(reason(turned), "weights of Conv, Gemm and MatMul are rounded so, not those of this ConvTranspose");
}

TEST(BiasCorrection, TakesTheMeanErrorOut) {
  Model model = parsed("g (float[1,8] x) => (float[1,2] y) <float[2] b = {1, 2}> { [fc] y = Gemm(x, w, b) }",
                       {{"w", zeros({8, 2})}});
  Bench bench(std::move(model), Format::Int8);
  bench.mean_error["fc"] = {0.25, -0.5};
  const auto proposals = correct_biases(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].constants.at("b").values, (std::vector<float>{0.75F, 2.5F}));
  EXPECT_EQ(proposals[0].constants.at("b").layer, "fc");
}

TEST(BiasCorrection, NeedsABias) {
  Model model = parsed("g (float[1,8] x) => (float[1,2] y) { [mm] y = MatMul(x, w) }", {{"w", zeros({8, 2})}});
  Bench bench(std::move(model), Format::Int8);
  bench.mean_error["mm"] = {0.25, -0.5};
  EXPECT_EQ(correct_biases(bench.network(), 0).at(0).why_not,
            "the MatMul adds no constant bias, and no Add in float behind it does");
}

TEST(BiasCorrection, FindsTheBiasOfAnAddBehindAMatMul) {
  const auto proposal = [](const std::string& graph, const std::vector<std::string>& low, int round = 0) {
    Bench bench(parsed(graph, {{"w", zeros({8, 2})}}), Format::Int8);
    for (PlannedLayer& layer : bench.plan.layers) {
      if (std::ranges::find(low, layer.name) == low.end()) layer.format = Format::Float32;
    }
    bench.mean_error["mm"] = {0.25, -0.5};
    const auto proposals = correct_biases(bench.network(), round);
    return proposals.empty() ? Proposal{} : proposals.front();
  };
  const std::string added =
      "g (float[1,8] x) => (float[1,2] y) <float[2] b = {1, 2}> { [mm] a = MatMul(x, w)\n [add] y = Add(b, a) }";
  const Proposal found = proposal(added, {"mm"});
  EXPECT_EQ(found.constants.at("b").values, (std::vector<float>{0.75F, 2.5F}));
  EXPECT_EQ(found.constants.at("b").layer, "mm") << "kept in float32, it takes the bias as it was";
  EXPECT_TRUE(found.by_output) << "the layer's own error ends before the Add";
  EXPECT_TRUE(proposal(added, {"mm"}, 1).layers.empty()) << "nothing says what the first round left";
  EXPECT_NE(proposal(added, {"mm", "add"}).why_not, "") << "an Add in INT8 rounds its bias to a grid of its own";
  EXPECT_NE(proposal("g (float[1,8] x) => (float[1,2] y, float[1,2] z) <float[2] b = {1, 2}> { [mm] a = MatMul(x, w)\n"
                     " [add] y = Add(b, a)\n [other] z = Relu(a) }",
                     {"mm"})
                .why_not,
            "")
      << "another node reads the result without the bias";
}

TEST(ClampMask, MovesTheMaskInsideTheFormat) {
  Model model = parsed(
      "g (float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -1e9, 0, 0}> { [add] a = Add(x, m) [sm] y = Softmax(a) "
      "}");
  Bench bench(std::move(model), Format::Float16);
  const auto proposals = clamp_masks(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  Model clamped = bench.model;
  proposals[0].rewrite(clamped);
  EXPECT_EQ(initializer(clamped, "m")->floats()[1], -16384.0F);
  EXPECT_EQ(initializer(clamped, "m")->floats()[0], 0.0F);
}

/// The masks that networks make of which tokens there are, and of which come later.
TEST(ClampMask, FollowsWhatTheNetworkMakesOfTheConstant) {
  const char* const made[] = {
      "[sub] k = Sub(one, open) [mul] m = Mul(k, big) [add] a = Add(x, m) [sm] y = Softmax(a)",
      "[is] closed = Equal(open, zero) [where] m = Where(closed, big, zero) [add] a = Add(x, m) [sm] y = Softmax(a)",
      "[mul] m = Mul(open, big) [up] u = Unsqueeze(m, axis) [down] d = Squeeze(u, axis) [add] a = Add(x, d)"
      " [sum] b = Add(a, d) [sm] y = Softmax(b)",
      "[mul] m = Mul(open, big) [look] closed = Equal(m, zero) [add] a = Add(x, m) [sm] y = Softmax(a)"};
  for (const char* const nodes : made) {
    Bench bench(parsed(fmt::format("g (float[2,2] x, float[2,2] open) => (float[2,2] y) <float one = {{1}}, float zero"
                                   " = {{0}}, float big = {{-3.4e38}}, int64[1] axis = {{0}}> {{ {} }}",
                                   nodes)),
                Format::Float16);
    const auto proposals = clamp_masks(bench.network(), 0);
    ASSERT_EQ(proposals.size(), 1U) << nodes;
    ASSERT_EQ(proposals[0].why_not, "") << nodes;
    Model clamped = bench.model;
    proposals[0].rewrite(clamped);
    EXPECT_EQ(initializer(clamped, "big")->floats()[0], -16384.0F) << nodes;
  }
}

TEST(ClampMask, TakesWhatIsSubtracted) {
  Bench bench(parsed("g (float[2,2] x, float[2,2] k) => (float[2,2] y) <float big = {1e9}> {"
                     " [mul] m = Mul(k, big) [sub] a = Sub(x, m) [sm] y = Softmax(a) }"),
              Format::Float16);
  Model clamped = bench.model;
  clamp_masks(bench.network(), 0).at(0).rewrite(clamped);
  EXPECT_EQ(initializer(clamped, "big")->floats()[0], 16384.0F);

  Bench plain(parsed("g (float[2,2] x) => (float[2,2] y) <float big = {1e9}> {"
                     " [add] a = Add(x, big) [sm] y = Softmax(a) }"),
              Format::Float16);
  EXPECT_TRUE(clamp_masks(plain.network(), 0).empty()) << "a large number, and no mask";
}

TEST(ClampMask, TakesAMaskOfAnyShape) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y) <int64 one = {1}> {"
                     " [shape] s = Shape(x) [full] f = ConstantOfShape <value = float[1] {-3.4e38}> (s)"
                     " [later] m = Trilu <upper = 1> (f, one) [add] a = Add(x, m) [sm] y = Softmax(a) }"),
              Format::Float16);
  Model clamped = bench.model;
  clamp_masks(bench.network(), 0).at(0).rewrite(clamped);
  const auto& nodes = clamped.proto.graph().node();
  const auto full = std::ranges::find(nodes, "full", [](const onnx::NodeProto& node) { return node.name(); });
  ASSERT_NE(full, nodes.end());
  EXPECT_EQ(tensor_of(find_attribute(*full, "value")->t()).floats()[0], -16384.0F);
}

TEST(ClampMask, RefusesWhatTheNetworkGivesOut) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y, float[2,2] a) <float[2,2] m = {0, -1e9, 0, 0}> {"
                     " [add] a = Add(x, m) [sm] y = Softmax(a) }"),
              Format::Float16);
  EXPECT_NE(clamp_masks(bench.network(), 0).at(0).why_not.find("the network gives out 'a'"), std::string::npos);
}

TEST(ClampMask, RefusesAConstantThatNoSoftmaxReads) {
  Model model = parsed("g (float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -1e9, 0, 0}> { [add] y = Add(x, m) }");
  Bench bench(std::move(model), Format::Float16);
  EXPECT_NE(clamp_masks(bench.network(), 0).at(0).why_not.find("the network gives out"), std::string::npos);
  Bench other(parsed("g (float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -1e9, 0, 0}> {"
                     " [add] a = Add(x, m) [relu] y = Relu(a) }"),
              Format::Float16);
  EXPECT_NE(clamp_masks(other.network(), 0).at(0).why_not.find("no softmax alone"), std::string::npos);
  Bench small(parsed("g (float[2,2] x) => (float[2,2] y) <float[2,2] m = {0, -1e4, 0, 0}> {"
                     " [add] a = Add(x, m) [sm] y = Softmax(a) }"),
              Format::Float16);
  EXPECT_TRUE(clamp_masks(small.network(), 0).empty());
}

TEST(RaiseEpsilon, ToTheSmallestFloat16UnderARoot) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y) <float e = {1e-12}> {"
                     " [add] a = Add(x, e) [root] r = Sqrt(a) [div] y = Div(x, r) }"),
              Format::Float16);
  const auto proposals = raise_epsilons(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  Model raised = bench.model;
  proposals[0].rewrite(raised);
  EXPECT_EQ(initializer(raised, "e")->floats()[0], 0x1p-24F);
}

TEST(RaiseEpsilon, LeavesSmallNumbersThatProtectNothing) {
  Bench bench(parsed("g (float[2,2] x) => (float[2,2] y) <float e = {1e-12}> { [add] y = Add(x, e) }"),
              Format::Float16);
  EXPECT_NE(raise_epsilons(bench.network(), 0).at(0).why_not, "");
}

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
    const auto proposals = split_channels(bench.network(), round);
    EXPECT_EQ(proposals.size(), 1U);
    EXPECT_EQ(proposals.at(0).why_not, "");
    EXPECT_EQ(proposals.at(0).layers, std::vector<std::string>{"second"});
    Model model = bench.model;
    proposals.at(0).rewrite(model);
    return model;
  }
  std::string reason(int round) { return split_channels(bench.network(), round).at(0).why_not; }
};

std::vector<float> values_of(const Model& model, const char* name) {
  const Tensor value = *initializer(model, name);
  return {value.floats().begin(), value.floats().end()};
}

TEST(SplitChannels, PartsOfAWeightSumToItAndSoDoTheirCodes) {
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

TEST(SplitChannels, AnActivationIsHalvedWhereItIsMade) {
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

TEST(SplitChannels, ConstantsOnTheWayGetAValueForEachCopy) {
  SplitNet net("[gain] r = Mul(a, slope)");
  const Model after = net.after(0);
  ASSERT_EQ(values_of(after, "slope").size(), 17U);
  EXPECT_EQ(values_of(after, "slope")[16], 4.0F) << "a factor is no sum: it stays what it was";
}

TEST(SplitChannels, ConvolutionsAreSplitAlongTheirInputChannels) {
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
  const auto proposals = split_channels(bench.network(), 1);
  ASSERT_EQ(proposals.size(), 1U);
  Model after = bench.model;
  proposals[0].rewrite(after);
  EXPECT_EQ(initializer(after, "w1")->shape(), (Shape{9, 2, 1, 1}));
  EXPECT_EQ(initializer(after, "w2")->shape(), (Shape{2, 9, 1, 1}));
  const std::vector<float> parts = values_of(after, "w2");
  for (std::size_t o = 0; o < 2; ++o) EXPECT_NEAR(parts[9 * o + 5] + parts[9 * o + 8], 9.0F, 1e-5F);
}

TEST(SplitChannels, RefusesWithAReason) {
  EXPECT_EQ(SplitNet("[act] r = Sigmoid(a)").reason(0), "Sigmoid 'act' in front of it lets no factor through");
  EXPECT_EQ(SplitNet("[act] r = Softmax(a)").reason(1),
            "Softmax 'act' in front of it mixes channels, or makes them itself");
  EXPECT_EQ(SplitNet("[act] r = Relu(a)", " [else] z = Neg(r)").reason(1), "others read 'r' too");
  SplitNet grid("[act] r = Relu(a)");
  set_initializer(grid.bench.model, *grid.bench.model.proto.mutable_graph(), "w2",
                  filled({16, 4}, [](int i) { return i == 12 ? 1.2F : 0.01F * static_cast<float>(i % 41 - 20); }));
  EXPECT_EQ(grid.reason(1), "its weights lie on a grid, which parts of them would leave");
  Model plain = parsed("g (float[1,16] r) => (float[1,4] y) { [second] y = MatMul(r, w2) }", {{"w2", zeros({16, 4})}});
  set_initializer(plain, *plain.proto.mutable_graph(), "w2",
                  filled({16, 4}, [](int i) { return i == 3 ? 9.0F : std::sin(static_cast<float>(i)); }));
  Bench input(std::move(plain), Format::Int8);
  input.noise["second"] = 0.1;
  EXPECT_EQ(split_channels(input.network(), 1).at(0).why_not,
            "'r' is an input of the network: nothing makes its channels");
}

TEST(SplitChannels, ProposesNothingForAGoodLayerOrChannelsOfOneSize) {
  SplitNet good("[act] r = Relu(a)");
  good.bench.noise["second"] = 1e-4;
  EXPECT_TRUE(split_channels(good.bench.network(), 0).empty());
  SplitNet alike("[act] r = Relu(a)");
  alike.bench.channels["r"] = std::vector<float>(16, 1.0F);
  EXPECT_TRUE(split_channels(alike.bench.network(), 0).empty());
}

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
  EXPECT_EQ(reason(layer_norm("[act] y = Relu(q)", first)), "it averages over other dimensions than the last");
  EXPECT_EQ(reason(layer_norm("[more] y = Add(q, d)")), "something else reads its differences");
  EXPECT_EQ(reason(layer_norm("[act] y = Relu(q)",
                              "[sq] s = Pow(x, two)\n [var] v = ReduceMean<axes = [0]>(s)\n"
                              " [root] r = Sqrt(v)\n [div] q = Div(x, r)\n")),
            "it averages over other dimensions than the last")
      << "an RMS norm, whose turn it is not";
  Bench whole(layer_norm("[act] y = Relu(q)"), Format::Float32);
  EXPECT_TRUE(fuse_norms(whole.network(), 0).empty()) << "float32 needs none";
}

TEST(ScaleSquare, DividesBeforeSquaring) {
  Bench bench(parsed("g (float[1,4] x) => (float[1,4] y) <float two = {2}, float e = {1e-5}> {"
                     " [sq] s = Pow(x, two) [mean] m = ReduceMean<axes = [1]>(s) [add] a = Add(m, e)"
                     " [root] r = Sqrt(a) [div] y = Div(x, r) }"),
              Format::Float16);
  bench.ranges["x"] = {-1000, 1000, 10, 0};
  const auto proposals = scale_squares(bench.network(), 0);
  ASSERT_EQ(proposals.size(), 1U);
  EXPECT_EQ(proposals[0].why_not, "");
  Model scaled = bench.model;
  proposals[0].rewrite(scaled);
  EXPECT_EQ(initializer(scaled, "sq.factor")->floats()[0], 0.125F);
  bench.ranges["x"] = {-200, 200, 10, 0};
  EXPECT_TRUE(scale_squares(bench.network(), 0).empty());
}

/// GELU as exporters write it: PyTorch's, Hugging Face's three, and ones with the factors elsewhere.
constexpr const char* kErfGelus[] = {
    "[in] a = Div(x, root2)\n [curve] b = Erf(a)\n [up] c = Add(b, one)\n [mul] d = Mul(x, c)\n [last] g = Mul(d, "
    "half)\n",
    "[in] a = Mul(inverse2, x)\n [h] h = Mul(x, half)\n [curve] b = Erf(a)\n [up] c = Add(one, b)\n [last] g = Mul(c, "
    "h)\n"};
constexpr const char* kTanhGelus[] = {
    "[cube] p = Pow(x, three)\n [k] k = Mul(p, kappa)\n [in] i = Add(x, k)\n [beta] j = Mul(i, beta)\n"
    " [curve] t = Tanh(j)\n [up] c = Add(t, one)\n [h] h = Mul(x, half)\n [last] g = Mul(h, c)\n",
    "[sq] s = Mul(x, x)\n [cube] p = Mul(x, s)\n [k] k = Mul(kappa, p)\n [in] i = Add(x, k)\n [beta] j = Mul(beta, i)\n"
    " [curve] t = Tanh(j)\n [up] c = Add(one, t)\n [d] d = Mul(x, c)\n [last] g = Mul(half, d)\n",
    "[a] a = Mul(x, beta)\n [b] b = Mul(x, kappa)\n [sq] s = Mul(b, x)\n [in] i = Add(s, one)\n [j] j = Mul(a, i)\n"
    " [curve] t = Tanh(j)\n [up] c = Add(t, one)\n [h] h = Mul(half, x)\n [last] g = Mul(h, c)\n"};

Model gelu_net(const std::string& pieces, const std::string& behind = "[mm] y = MatMul(g, w)",
               const std::string& outputs = "float[2,4] y") {
  return parsed("g (float[2,4] q) => (" + outputs +
                    ") <float one = {1}, float half = {0.5}, float three = {3}, float root2 = {1.4142135},"
                    " float inverse2 = {0.70710677}, float kappa = {0.044715}, float beta = {0.7978846}> {"
                    " [scale] x = Mul(q, three)\n " +
                    pieces + behind + " }",
                {{"w", zeros({4, 4})}});
}

TEST(FuseGelu, PiecesBecomeTheOperator) {
  for (const bool tanh : {false, true}) {
    for (const std::string pieces : tanh ? std::span<const char* const>(kTanhGelus) : kErfGelus) {
      Bench bench(gelu_net(pieces), Format::Float16);
      const auto proposals = fuse_gelus(bench.network(), 0);
      ASSERT_EQ(proposals.size(), 1U) << pieces;
      ASSERT_EQ(proposals[0].why_not, "") << pieces;
      EXPECT_EQ(proposals[0].opset, 20);
      EXPECT_EQ(proposals[0].otherwise.empty(), !tanh);
      Model fused = bench.model;
      proposals[0].rewrite(fused);
      ASSERT_EQ(fused.proto.graph().node_size(), 3) << "what makes x is scalar too, and stays";
      const onnx::NodeProto& gelu = fused.proto.graph().node(1);
      EXPECT_EQ(gelu.op_type(), "Gelu");
      EXPECT_EQ(gelu.name(), "last");
      EXPECT_EQ(gelu.input(0), "x");
      EXPECT_EQ(find_attribute(gelu, "approximate") != nullptr, tanh);
    }
  }
}

TEST(FuseGelu, WhatOnlyLooksLikeOneIsNone) {
  std::string one_third = kErfGelus[0];
  one_third.replace(one_third.find("root2"), 5, "three");
  Bench wide(gelu_net(one_third), Format::Float16);
  EXPECT_TRUE(fuse_gelus(wide.network(), 0).empty()) << "another width";
  Bench tanh(gelu_net("[curve] g = Tanh(x)\n"), Format::Float16);
  EXPECT_TRUE(fuse_gelus(tanh.network(), 0).empty());
  Bench whole(gelu_net(kErfGelus[0]), Format::Float32);
  EXPECT_TRUE(fuse_gelus(whole.network(), 0).empty()) << "float32 needs none";
}

TEST(FuseGelu, RefusesWithAReason) {
  Bench read(gelu_net(kErfGelus[0], "[more] y = Add(g, c)"), Format::Float16);
  // The sum ends the chain of single readers: the product behind is not reached.
  EXPECT_TRUE(fuse_gelus(read.network(), 0).empty());
  Bench halved(gelu_net(kErfGelus[1], "[more] y = Add(g, h)"), Format::Float16);
  EXPECT_EQ(fuse_gelus(halved.network(), 0).at(0).why_not, "something else reads one of its pieces");
  Bench shown(gelu_net(kErfGelus[0], "[mm] y = MatMul(g, w)", "float[2,4] y, float[2,4] b"), Format::Float16);
  EXPECT_EQ(fuse_gelus(shown.network(), 0).at(0).why_not, "one of its pieces is an output of the network");
}

TEST(ClipCube, ClipsWhatTheTanhReadsAndNothingElse) {
  const float limits[] = {50, 50, 2000};  // the last form squares first, and scales before
  for (std::size_t form = 0; form < 3; ++form) {
    Bench bench(gelu_net(kTanhGelus[form]), Format::Float16);
    bench.ranges["x"] = {-limits[form], 20, 10, 0};
    const auto proposals = clip_cubes(bench.network(), 0);
    ASSERT_EQ(proposals.size(), 1U) << kTanhGelus[form];
    ASSERT_EQ(proposals[0].why_not, "");
    Model clipped = bench.model;
    proposals[0].rewrite(clipped);
    int through = 0;
    for (const onnx::NodeProto& node : clipped.proto.graph().node()) {
      const auto reads = std::ranges::count(node.input(), "x");
      through += static_cast<int>(std::ranges::count(node.input(), "x.clipped"));
      if (reads > 0) {
        EXPECT_TRUE(node.op_type() == "Clip" || node.name() == "h" || node.name() == "d") << node.name();
      }
    }
    EXPECT_GE(through, 2);
    EXPECT_EQ(initializer(clipped, "curve.lowest")->floats()[0], -16);
    EXPECT_EQ(initializer(clipped, "curve.highest")->floats()[0], 16);
    bench.ranges["x"] = {-30, 30, 10, 0};
    EXPECT_TRUE(clip_cubes(bench.network(), 0).empty()) << "float16 holds the cube of 30";
  }
}

TEST(ClipCube, LeavesOtherCurvesAlone) {
  Bench erf(gelu_net(kErfGelus[0]), Format::Float16);
  erf.ranges["x"] = {-5000, 5000, 10, 0};
  EXPECT_TRUE(clip_cubes(erf.network(), 0).empty()) << "erf cubes nothing";
  Bench bfloat(gelu_net(kTanhGelus[0]), Format::BFloat16);
  bfloat.ranges["x"] = {-5000, 5000, 10, 0};
  EXPECT_TRUE(clip_cubes(bfloat.network(), 0).empty()) << "bfloat16 holds it";
}

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
  EXPECT_EQ(AttentionNet("[scale] l = Mul(s, twice)").proposal().why_not, "its scale makes nothing smaller");
  EXPECT_EQ(AttentionNet("[scale] l = Mul(s, m)").proposal().why_not, "its scale is no constant number");
  EXPECT_EQ(AttentionNet("[scale] l = Relu(s)").proposal().why_not, "Relu reads it, and no scale");
  AttentionNet beyond("[scale] l = Div(s, eight)", "[q] a = MatMul(x, wq)\n [bias] b = Add(bq, a)\n", 1e6F);
  EXPECT_EQ(beyond.proposal().why_not, "it reaches 1.25e+05 behind its scale too");
  AttentionNet small("[scale] l = Div(s, eight)", "[q] a = MatMul(x, wq)\n [bias] b = Add(bq, a)\n", 6e4F);
  EXPECT_TRUE(scale_attentions(small.bench.network(), 0).empty()) << "float16 holds the sums";
}

}  // namespace
}  // namespace vernier
