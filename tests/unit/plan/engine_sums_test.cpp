// What TensorRT does within a layer, in both roads to a simulated graph.
#include "plan/engine_sums.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>

#include "plan/lower_simulated.h"
#include "plan/lower_typed.h"
#include "plan/round_node.h"
#include "plan/simulate_typed.h"
#include "simulated_graph.h"
#include "vernier/format.h"

namespace vernier {
namespace {

using testing::inputs_of;
using testing::Names;
using testing::names_of;
using testing::node_named;
using testing::outputs_of;
using testing::params_of;
using testing::parse_model;
using testing::plan_of;
using testing::round_behind;
using testing::simulated;
using testing::values_of;

onnx::NodeProto conv_of(std::int64_t group) {
  onnx::NodeProto node;
  node.set_op_type("Conv");
  set_attribute(node, "group", group);
  return node;
}

TEST(RoundingsOfSum, AreOneForEach16Products) {
  EXPECT_EQ(roundings_of_sum(conv_of(1), {8, 16, 1, 1}), 1);
  EXPECT_EQ(roundings_of_sum(conv_of(1), {8, 17, 1, 1}), 2);
  EXPECT_EQ(roundings_of_sum(conv_of(1), {8, 16, 3, 3}), 9);
  EXPECT_EQ(roundings_of_sum(conv_of(4), {64, 16, 3, 3}), 9);  // 16 channels of each group
  EXPECT_EQ(roundings_of_sum(conv_of(1), {8, 100, 1}), 7);
}

TEST(RoundingsOfSum, AreOneOfADepthwiseConvolutionAndOfAnUnknownWeight) {
  EXPECT_EQ(roundings_of_sum(conv_of(64), {64, 1, 7, 7}), 1);
  EXPECT_EQ(roundings_of_sum(conv_of(1), {64, 1, 7, 7}), 4);  // one channel in, and no groups
  EXPECT_EQ(roundings_of_sum(conv_of(1), {}), 1);
}

TEST(RoundingsOfSum, OfAMatrixAreOneForEach16Rows) {
  onnx::NodeProto node;
  node.set_op_type("MatMul");
  EXPECT_EQ(roundings_of_sum(node, {48, 96}), 3);
  EXPECT_EQ(roundings_of_sum(node, {}), 1) << "a product of two activations, which is summed in float32";
  node.set_op_type("Gemm");
  EXPECT_EQ(roundings_of_sum(node, {48, 96}), 3);
  set_attribute(node, "transB", std::int64_t{1});
  EXPECT_EQ(roundings_of_sum(node, {48, 96}), 6);
}

/// Conv (K = 18, with a bias) and MatMul behind it.
Model small_network(int opset = 17) {
  return parse_model(R"(
    g (float[1,2,5,5] x) => (float[1,1,3,2] y)
    <float[1,2,3,3] w = {1,2,3,4,5,6,7,8,9,9,8,7,6,5,4,3,2,1.0001}, float[1] b = {0.1}, float[3,2] m = {1,2,3,4,5,6.0001}> {
      [conv] h = Conv(x, w, b)
      [mm] y = MatMul(h, m)
    })",
                     opset);
}

Plan planned(Format conv, Format mm, const Arithmetic& arithmetic) {
  Plan plan = plan_of({{"conv", conv}, {"mm", mm}});
  plan.arithmetic = arithmetic;
  return plan;
}

/// The one Accumulate of a graph; fails where there is none.
const onnx::NodeProto& accumulate_in(const Model& model) {
  const Names names = names_of(model.proto.graph(), "Accumulate");
  EXPECT_EQ(names.size(), 1U);
  return node_named(model, names.at(0));
}

TEST(EngineSums, AFloat16ConvGetsTheNoiseOfItsSumAndItsBiasBehindIt) {
  const Model low = simulated(small_network(), planned(Format::Float16, Format::Float32, kMeasuredArithmetic));
  const onnx::NodeProto& sum = accumulate_in(low);
  EXPECT_EQ(inputs_of(low, "conv"), (Names{"x/float16", "w/float16"}));
  EXPECT_EQ(sum.input(0), outputs_of(low, "conv")[0]);
  EXPECT_EQ(sum.input(1), "b/float16");
  EXPECT_EQ(attribute_int(sum, "roundings", 0), 2);
  EXPECT_EQ(round_behind(low, sum.output(0)).output(0), "h");
}

TEST(EngineSums, ABFloat16ConvIsRoundedInFrontOfItsBiasAlone) {
  const Model low = simulated(small_network(22), planned(Format::BFloat16, Format::Float32, kMeasuredArithmetic));
  EXPECT_EQ(attribute_int(accumulate_in(low), "roundings", 0), 1);
}

TEST(EngineSums, AFloat32LayerReadsTf32) {
  const Model low = simulated(small_network(), planned(Format::Float16, Format::Float32, kMeasuredArithmetic));
  EXPECT_EQ(inputs_of(low, "mm"), (Names{"h/tf32", "m/tf32"}));
  EXPECT_EQ(values_of(low, "m/tf32").back(), 6.0F);
  EXPECT_EQ(node_named(low, "h/tf32_tf32").op_type(), "Tf32");
}

TEST(EngineSums, TheUsualSimulationHasNoneOfIt) {
  const Model low = simulated(small_network(), planned(Format::Float16, Format::Float32, {}));
  EXPECT_EQ(names_of(low.proto.graph(), "Accumulate"), Names{});
  EXPECT_EQ(names_of(low.proto.graph(), "Tf32"), Names{});
  EXPECT_EQ(inputs_of(low, "conv"), (Names{"x/float16", "w/float16", "b/float16"}));
}

TEST(EngineSums, AFileGetsTheNoiseOfItsPlan) {
  const Plan plan = planned(Format::Float16, Format::Float32, kMeasuredArithmetic);
  const TypedModel typed = lower_typed(small_network(), plan, /*strict=*/true);
  const SimulatedFile file = simulate_typed(typed.model, kMeasuredArithmetic);
  const Model low = simulated(small_network(), plan);
  const onnx::NodeProto& of_file = accumulate_in(file.model);
  const onnx::NodeProto& of_plan = accumulate_in(low);
  EXPECT_EQ(attribute_int(of_file, "seed", 0), attribute_int(of_plan, "seed", 1));
  EXPECT_EQ(attribute_int(of_file, "roundings", 0), attribute_int(of_plan, "roundings", 1));
  EXPECT_EQ(inputs_of(file.model, "conv").size(), 2U);
  EXPECT_EQ(names_of(file.model.proto.graph(), "Tf32").size(), 1U);
  EXPECT_EQ(values_of(file.model, "m/tf32"), values_of(low, "m/tf32"));
  EXPECT_EQ(names_of(simulate_typed(typed.model).model.proto.graph(), "Accumulate"), Names{});
}

/// The tensors that a Round gives, of the plan and of the file that it makes.
std::vector<Names> rounded_tensors(const std::string& graph, std::vector<PlannedLayer> layers) {
  Plan plan = plan_of(std::move(layers));
  plan.arithmetic = kMeasuredArithmetic;
  const TypedModel typed = lower_typed(parse_model(graph), plan, /*strict=*/true);
  std::vector<Names> rounded;
  for (const Model& low :
       {simulated(parse_model(graph), plan), simulate_typed(typed.model, kMeasuredArithmetic).model}) {
    Names names;
    for (const onnx::NodeProto& node : low.proto.graph().node()) {
      if (node.op_type() == "Round" && node.input(0).ends_with("/unrounded")) names.push_back(node.output(0));
    }
    rounded.push_back(names);
  }
  return rounded;
}

TEST(EngineSums, AProductThatIsReadAsFloat32IsNotRounded) {
  const auto at_the_output =
      rounded_tensors("g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { [mm] y = MatMul(x, w) }",
                      {{"mm", Format::Float16}});
  EXPECT_EQ(at_the_output, (std::vector<Names>{{}, {}}));
  const auto at_a_border = rounded_tensors(
      "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { [mm] h = MatMul(x, w) [e] y = Exp(h) }",
      {{"mm", Format::Float16}, {"e", Format::Float32}});
  EXPECT_EQ(at_a_border, (std::vector<Names>{{}, {}}));
}

TEST(EngineSums, AnActivationBetweenIsNotRoundedEither) {
  const auto rounded = rounded_tensors(
      "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> { [mm] h = MatMul(x, w) [s] y = Sigmoid(h) }",
      {{"mm", Format::Float16}, {"s", Format::Float16}});
  EXPECT_EQ(rounded, (std::vector<Names>{{}, {}}));
}

TEST(EngineSums, AProductThatALowLayerReadsIsRounded) {
  const auto rounded = rounded_tensors(R"(
    g (float[1,2] x) => (float[1,2] y, float[1,2] z) <float[2,2] w = {1, 2, 3, 4}> {
      [mm] h = MatMul(x, w)
      [s] y = Sigmoid(h)
      [e] z = Exp(h)
    })",
                                       {{"mm", Format::Float16}, {"s", Format::Float16}, {"e", Format::Float32}});
  for (const Names& names : rounded) EXPECT_EQ(names.size(), 2U);  // h and y
}

TEST(EngineSums, LayersOnCodesSumIntegers) {
  Plan plan = plan_of({{"conv", Format::Int8}, {"mm", Format::Float16}},
                      {{"x", params_of(Format::Int8, {0.5F})}, {"w", params_of(Format::Int8, {0.5F}, 0)}});
  plan.arithmetic = kMeasuredArithmetic;
  const Model low = simulated(small_network(), plan);
  EXPECT_EQ(names_of(low.proto.graph(), "Accumulate"), Names{});
  EXPECT_EQ(names_of(low.proto.graph(), "Tf32"), Names{});
  const TypedModel typed = lower_typed(small_network(), plan, /*strict=*/true);
  const SimulatedFile file = simulate_typed(typed.model, kMeasuredArithmetic);
  EXPECT_EQ(names_of(file.model.proto.graph(), "Accumulate"), Names{});
  EXPECT_EQ(names_of(file.model.proto.graph(), "Tf32"), Names{});
}

TEST(EngineSums, OfAGemmLeaveItsBiasToWhatStandsBehind) {
  const EngineSums sums(kMeasuredArithmetic);
  onnx::NodeProto gemm;
  gemm.set_op_type("Gemm");
  for (const char* input : {"x", "w", "c"}) gemm.add_input(input);
  gemm.add_output("y");
  const auto behind = [&](Format format, const Shape& bias) {
    onnx::NodeProto node = gemm;
    const auto sum = sums.behind(node, format, "gemm", {.weight = {48, 10}, .bias = bias});
    const bool apart = sum && sum->input_size() == 2 && attribute_float(node, "beta", 1) == 0;
    return std::pair{sum ? attribute_int(*sum, "roundings", 0) : 0, apart};
  };
  EXPECT_EQ(behind(Format::Float16, {10}), std::pair(std::int64_t{3}, true));
  EXPECT_EQ(behind(Format::Float16, {1, 10}), std::pair(std::int64_t{3}, false)) << "not one row";
  EXPECT_EQ(behind(Format::BFloat16, {10}), std::pair(std::int64_t{1}, true));
  EXPECT_EQ(behind(Format::BFloat16, {}), std::pair(std::int64_t{0}, false)) << "rounded once";
}

TEST(EngineSums, OfANormInFloat16HaveRoundedFactors) {
  const Model model = parse_model(
      "g (float[1,2,2,2] x) => (float[1,2,2,2] y) <float[2] s = {1.1, 3}, float[2] b = {0.3, 0}, "
      "float[2] m = {1, 2}, float[2] v = {2, 5}> { [n] y = BatchNormalization(x, s, b, m, v) }");
  Model changed = model;
  onnx::GraphProto& graph = *changed.proto.mutable_graph();
  EngineSums(kMeasuredArithmetic).round_norm(changed, graph, *graph.mutable_node(0), Format::Float16);
  EXPECT_EQ(graph.node(0).input(1), "y/scale");
  const float exact = 1.1F / std::sqrt(2.0F + 1e-5F);
  const float scale = initializer(changed, "y/scale")->floats()[0];
  EXPECT_NE(scale, exact);
  EXPECT_NEAR(scale, exact, 0x1p-11);
  EXPECT_NEAR(initializer(changed, "y/shift")->floats()[0], 0.3F - exact, 0x1p-11);
  Model low = model;
  EngineSums(kMeasuredArithmetic)
      .round_norm(low, *low.proto.mutable_graph(), *low.proto.mutable_graph()->mutable_node(0), Format::BFloat16);
  EXPECT_EQ(low.proto.graph().node(0).input(1), "s") << "not measured";
}

TEST(EngineSums, LayersOfOtherNamesHaveOtherNoise) {
  const EngineSums sums(kMeasuredArithmetic);
  const auto seed = [&](const std::string& layer) {
    onnx::NodeProto conv = conv_of(1);
    conv.add_input("x");
    conv.add_input("w");
    conv.add_output("y");
    return attribute_int(sums.behind(conv, Format::Float16, layer, {.weight = {1, 32, 1, 1}, .bias = {}}).value(),
                         "seed", 0);
  };
  EXPECT_NE(seed("a"), seed("b"));
  EXPECT_EQ(seed("a"), seed("a"));
}

}  // namespace
}  // namespace vernier
