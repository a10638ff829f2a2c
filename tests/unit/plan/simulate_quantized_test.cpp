// What a typed file says with QuantizeLinear and DequantizeLinear, ours and foreign ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "plan/round_node.h"
#include "plan/simulate_typed.h"
#include "simulated_graph.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::Draft;
using testing::draft;
using testing::find_node;
using testing::inputs_of;
using testing::low_tensor;
using testing::Names;
using testing::names_of;
using testing::node_named;
using testing::outputs_of;
using testing::round_behind;
using testing::tensor_of_codes;
using testing::values_of;
using testing::with_initializer;

Draft int8_zero(Draft model, const std::string& name = "z", std::int8_t value = 0) {
  return with_initializer(std::move(model), name, tensor_of_codes<std::int8_t>(Dtype::Int8, {}, {value}));
}

TEST(SimulateQuantized, APairWithEqualParametersIsOneRound) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0.5}> {
      [q] codes = QuantizeLinear(x, s, z)
      [d] back = DequantizeLinear(codes, s, z)
      [e] y = Exp(back)
    })")));
  EXPECT_EQ(find_node(file.model.proto.graph(), "q"), nullptr);
  const onnx::NodeProto& round = node_named(file.model, "d");
  EXPECT_EQ(round.input(0), "x");
  EXPECT_EQ(round.output(0), "back");
  const QuantParams params = round_params(round);
  EXPECT_EQ(params.format, Format::Int8);
  EXPECT_EQ(params.scale, std::vector<float>{0.5F});
  EXPECT_TRUE(params.zero_point.empty());
  EXPECT_EQ(params.lowest_code, 0);  // QuantizeLinear uses -128 too
  ASSERT_EQ(file.layers.size(), 1U);
  EXPECT_EQ(file.layers[0], (PlannedLayer{"e", Format::Int8}));
}

TEST(SimulateQuantized, ThePairsOfAFileCanLeaveTheirClampBehind) {
  const Draft file = int8_zero(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0.5}> {
      [q] codes = QuantizeLinear(x, s, z)
      [d] back = DequantizeLinear(codes, s, z)
      [e] y = Exp(back)
    })"),
                               "z", -128);
  const auto behind = [&](Clamp clamp) { return without_roundings(file, {{"back", clamp}}).model; };
  EXPECT_EQ(node_named(behind({}), "d").op_type(), "Identity");
  EXPECT_EQ(node_named(behind({.low = true}), "d").op_type(), "Relu") << "the grid begins at 0";
  const Model both = behind({.low = true, .high = true});
  const onnx::NodeProto& clip = node_named(both, "d");
  ASSERT_EQ(clip.op_type(), "Clip");
  EXPECT_EQ(values_of(both, clip.input(1)), std::vector<float>{0});
  EXPECT_EQ(values_of(both, clip.input(2)), std::vector<float>{127.5});
  const Model high = behind({.high = true});
  EXPECT_EQ(node_named(high, "d").input(1), "");
}

TEST(SimulateQuantized, QuantizedOperatorsComputeOnTheCodesThatTheyRead) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[2,2] x) => (float[2,2] y) <float s = {0.5}> {
      [q] codes = QuantizeLinear(x, s, z)
      [mm] product = QLinearMatMul(codes, s, z, codes, s, z, s, z)
      [d] y = DequantizeLinear(product, s, z)
    })")));
  ASSERT_EQ(file.layers.size(), 1U);
  EXPECT_EQ(file.layers[0], (PlannedLayer{"mm", Format::Int8}));
}

TEST(SimulateQuantized, ASumOfOneInputIsNoLayerInTheFormatOfItsInput) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0.5}> {
      [q] codes = QuantizeLinear(x, s, z)
      [d] back = DequantizeLinear(codes, s, z)
      [shield] kept = Sum(back)
      [e] y = Exp(kept)
    })")));
  EXPECT_EQ(file.layers[0], (PlannedLayer{"shield", Format::Float32}));
}

TEST(SimulateQuantized, EachReaderOfOneQuantizeGetsItsRound) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0.5}> {
      [q] codes = QuantizeLinear(x, s, z)
      [d1] a = DequantizeLinear(codes, s, z)
      [d2] b = DequantizeLinear(codes, s, z)
      [add] y = Add(a, b)
    })")));
  EXPECT_EQ(names_of(file.model.proto.graph(), "Round"), (Names{"d1", "d2"}));
}

TEST(SimulateQuantized, APairWithDifferentParametersStaysAsItIs) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0.5}, float t = {0.25}> {
      [q] codes = QuantizeLinear(x, s, z)
      [d] y = DequantizeLinear(codes, t, z)
    })")));
  EXPECT_EQ(node_named(file.model, "q").op_type(), "QuantizeLinear");
  EXPECT_EQ(node_named(file.model, "d").op_type(), "DequantizeLinear");
}

TEST(SimulateQuantized, CodesThatOthersReadStayCodes) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[2,3] x) => (float[3,2] y) <float s = {0.5}> {
      [q] codes = QuantizeLinear(x, s, z)
      [t] moved = Transpose<perm = [1, 0]>(codes)
      [d] back = DequantizeLinear(moved, s, z)
      [e] y = Exp(back)
    })")));
  EXPECT_EQ(names_of(file.model.proto.graph(), "Round"), Names{});
  EXPECT_EQ(inputs_of(file.model, "d"), (Names{"moved", "s", "z"}));
  EXPECT_EQ(file.layers.back(), (PlannedLayer{"e", Format::Int8}));
}

TEST(SimulateQuantized, CodesThatAreAGraphOutputStayCodes) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[2] x) => (float[2] y, int8[2] codes) <float s = {0.5}> {
      [q] codes = QuantizeLinear(x, s, z)
      [d] y = DequantizeLinear(codes, s, z)
    })")));
  EXPECT_EQ(node_named(file.model, "q").op_type(), "QuantizeLinear");
}

TEST(SimulateQuantized, AnInt8WeightPerChannelIsDequantizedAlongItsAxis) {
  const Model model =
      with_initializer(draft(R"(
    g (float[1,2] x) => (float[1,3] y) <float[3] s = {1, 2, 4}> {
      [d] w = DequantizeLinear<axis = -1>(codes, s)
      [mm] y = MatMul(x, w)
    })"),
                       "codes", tensor_of_codes<std::int8_t>(Dtype::Int8, {2, 3}, {1, 1, 1, -1, -2, -128}));
  EXPECT_EQ(values_of(simulate_typed(model).model, "w"), (std::vector<float>{1, 2, 4, -1, -4, -512}));
}

TEST(SimulateQuantized, AUint8WeightIsDequantizedFromItsZeroPoint) {
  Draft model = with_initializer(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0.5}> {
      [d] w = DequantizeLinear(codes, s, z)
      [a] y = Add(x, w)
    })"),
                                 "codes", tensor_of_codes<std::uint8_t>(Dtype::UInt8, {2}, {0, 255}));
  model = with_initializer(std::move(model), "z", tensor_of_codes<std::uint8_t>(Dtype::UInt8, {}, {128}));
  EXPECT_EQ(values_of(simulate_typed(model).model, "w"), (std::vector<float>{-64, 63.5}));
}

TEST(SimulateQuantized, AnInt32BiasIsDequantizedPerChannel) {
  const Model model = with_initializer(draft(R"(
    g (float[2] x) => (float[2] y) <float[2] s = {0.5, 0.25}> {
      [d] b = DequantizeLinear<axis = 0>(codes, s)
      [a] y = Add(x, b)
    })"),
                                       "codes", tensor_of_codes<std::int32_t>(Dtype::Int32, {2}, {100000, -3}));
  EXPECT_EQ(values_of(simulate_typed(model).model, "b"), (std::vector<float>{50000, -0.75}));
}

TEST(SimulateQuantized, AFloat8WeightIsDecodedAndScaled) {
  const Model model = with_initializer(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {2}> {
      [d] w = DequantizeLinear(codes, s)
      [a] y = Add(x, w)
    })",
                                             19),
                                       "codes", low_tensor(Format::Float8E4M3FN, {2}, {1.125F, -448}));
  EXPECT_EQ(values_of(simulate_typed(model).model, "w"), (std::vector<float>{2.25F, -896}));
}

TEST(SimulateQuantized, AnInt4WeightIsUnpacked) {
  const Model model = with_initializer(draft(R"(
    g (float[3] x) => (float[3] y) <float s = {0.5}> {
      [d] w = DequantizeLinear(codes, s)
      [a] y = Add(x, w)
    })",
                                             21),
                                       "codes", tensor_of_codes<std::uint8_t>(Dtype::Int4, {3}, {0x71, 0x08}));
  EXPECT_EQ(values_of(simulate_typed(model).model, "w"), (std::vector<float>{0.5, 3.5, -4}));
}

TEST(SimulateQuantized, AFloat16ScaleMakesAFloat16Tensor) {
  Draft model = draft(R"(
    g (float16[2] x) => (float16[2] y) {
      [q] codes = QuantizeLinear(x, s, z)
      [d] back = DequantizeLinear(codes, s, z)
      [e] y = Exp(back)
    })",
                      19);
  model = int8_zero(with_initializer(std::move(model), "s", low_tensor(Format::Float16, {}, {0.1F})));
  const SimulatedFile file = simulate_typed(model);
  const QuantParams first = round_params(round_behind(file.model, "x/rounded"));
  EXPECT_EQ(first.format, Format::Int8);
  EXPECT_EQ(first.scale, std::vector<float>{0.0999755859375F});  // the scale itself is a float16
  const onnx::NodeProto& second = round_behind(file.model, "back/unrounded");
  EXPECT_EQ(round_params(second).format, Format::Float16);
  EXPECT_EQ(second.output(0), "back");
  EXPECT_EQ(file.layers.back(), (PlannedLayer{"e", Format::Int8}));
}

TEST(SimulateQuantized, AQuantizedFloatWeightIsRoundedOnceAndStaysConstant) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {0.3, 1, 2, 300}, float s = {0.5}> {
      [q] codes = QuantizeLinear(w, s, z)
      [d] low = DequantizeLinear(codes, s, z)
      [mm] y = MatMul(x, low)
    })")));
  EXPECT_EQ(values_of(file.model, "low"), (std::vector<float>{0.5, 1, 2, 63.5}));
  EXPECT_EQ(names_of(file.model.proto.graph(), "Round"), Names{});
}

TEST(SimulateQuantized, BlockedWeightsBecomeTheirValues) {
  const Model model = with_initializer(draft(R"(
    g (float[1,2] x) => (float[1,2] y) <float[1,2] s = {0.5, 1}> {
      [d] w = DequantizeLinear<axis = 0, block_size = 2>(codes, s)
      [mm] y = MatMul(x, w)
    })",
                                             21),
                                       "codes", tensor_of_codes<std::int8_t>(Dtype::Int8, {2, 2}, {1, 2, 3, 4}));
  const Tensor values = initializer(simulate_typed(model).model, "w").value();
  EXPECT_EQ((std::vector<float>(values.floats().begin(), values.floats().end())), (std::vector<float>{0.5, 2, 1.5, 4}));
}

TEST(SimulateQuantized, ScalesThatNoRoundTakesAreLeftToTheRuntime) {
  const SimulatedFile file = simulate_typed(int8_zero(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0}> {
      [q] codes = QuantizeLinear(x, s, z)
      [d] y = DequantizeLinear(codes, s, z)
    })")));
  EXPECT_EQ(node_named(file.model, "q").op_type(), "QuantizeLinear");
}

TEST(SimulateQuantized, Float8WithoutSaturationIsLeftToTheRuntime) {
  const Model model = with_initializer(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0.5}> {
      [q] codes = QuantizeLinear<saturate = 0>(x, s, z)
      [d] y = DequantizeLinear(codes, s, z)
    })",
                                             19),
                                       "z", low_tensor(Format::Float8E4M3FN, {}, {0}));
  EXPECT_EQ(node_named(simulate_typed(model).model, "q").op_type(), "QuantizeLinear");
}

TEST(SimulateQuantized, PairsOfTheRuntimesOwnDomainAreRoundsToo) {
  Draft model = int8_zero(draft(R"(
    g (float[2] x) => (float[2] y) <float s = {0.5}> {
      [q] codes = QuantizeLinear(x, s, z)
      [d] back = DequantizeLinear(codes, s, z)
      [e] y = Exp(back)
    })"));
  for (int i = 0; i < 2; ++i) model.proto.mutable_graph()->mutable_node(i)->set_domain("com.microsoft");
  set_opset(model.proto, "com.microsoft", 1);
  EXPECT_EQ(node_named(simulate_typed(model).model, "d").op_type(), "Round");
}

}  // namespace
}  // namespace vernier
