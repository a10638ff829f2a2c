// Layers whose weight alone is quantized: int4 in blocks, int8 along channels; computed in the high format.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/layers.h"
#include "plan/calibrate.h"
#include "plan/lower_typed.h"
#include "plan/scheme.h"
#include "plan/simulate_typed.h"
#include "plan/weight_blocks.h"
#include "tiny_graph.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::inputs_of;
using testing::Names;
using testing::node_named;
using testing::parse_model;

/// A product [1,64] x [64,2] whose constant is made here: the text language has no room for 128 values.
Model product(const std::string& node = "[fc] y = MatMul(x, w)", const Shape& shape = {64, 2}) {
  Model model = parse_model("g (float[1,64] x) => (float[1,2] y) <float[1] w = {1}> { " + node + " }", 21);
  std::vector<float> values(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 15) - 7.0F;
  set_initializer(model, *model.proto.mutable_graph(), "w", Tensor::of(shape, values));
  return model;
}

Plan calibrated(const Model& model, const PrecisionOptions& precision) {
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = assign_formats(model, layers, precision).plan;
  EXPECT_TRUE(tensors_to_calibrate(model, layers, plan).empty()) << "activations are not quantized";
  calibrate_plan(plan, model, layers, {});
  return plan;
}

PrecisionOptions int4(Format high = Format::Float32) {
  PrecisionOptions precision;
  precision.low = {Format::Int4};
  precision.high = high;
  return precision;
}

TEST(WeightsOnly, Int4IsStoredInBlocksAlongTheSummedDimension) {
  const Model model = product();
  const TypedModel typed = lower_typed(model, calibrated(model, int4()), /*strict=*/true);
  EXPECT_EQ(inputs_of(typed.model, "fc"), (Names{"x", "w_DequantizeLinear_Output"}));
  const onnx::NodeProto& dequantize = node_named(typed.model, "w_dequantize");
  EXPECT_EQ(attribute_int(dequantize, "axis", -9), 0);
  EXPECT_EQ(attribute_int(dequantize, "block_size", -9), 64);  // 128 does not divide 64
  EXPECT_EQ(initializer(typed.model, dequantize.input(0))->dtype(), Dtype::Int4);
  EXPECT_EQ(initializer(typed.model, dequantize.input(1))->shape(), (Shape{1, 2}));
  EXPECT_EQ(initializer(typed.model, dequantize.input(2))->shape(), (Shape{1, 2}));
  EXPECT_EQ(typed.weight_bytes, 64 + 2 * 4 + 1);
  EXPECT_FALSE(is_initializer(typed.model, "w"));
}

TEST(WeightsOnly, BlocksOfATransposedGemmLieAlongItsColumns) {
  const Model model = product("[fc] y = Gemm<transB = 1>(x, w)", {2, 64});
  PrecisionOptions precision = int4();
  precision.rules.block_size = 32;
  const TypedModel typed = lower_typed(model, calibrated(model, precision), /*strict=*/true);
  const onnx::NodeProto& dequantize = node_named(typed.model, "w_dequantize");
  EXPECT_EQ(attribute_int(dequantize, "axis", -9), 1);
  EXPECT_EQ(initializer(typed.model, dequantize.input(1))->shape(), (Shape{2, 2}));
}

TEST(WeightsOnly, ComputesInTheHighFormatWithScalesOfItsType) {
  const Model model = product();
  const TypedModel typed = lower_typed(model, calibrated(model, int4(Format::Float16)), /*strict=*/true);
  EXPECT_EQ(inputs_of(typed.model, "fc"), (Names{"x.float16", "w_DequantizeLinear_Output"}));
  const onnx::NodeProto& dequantize = node_named(typed.model, "w_dequantize");
  EXPECT_EQ(initializer(typed.model, dequantize.input(1))->dtype(), Dtype::Float16);
  EXPECT_EQ(typed.casts, 2);  // in and out
}

TEST(WeightsOnly, ScalesRoundedToTheHighFormatNeverClipAWeight) {
  const Model model = product();
  for (const Format high : {Format::Float16, Format::BFloat16}) {
    const Plan plan = calibrated(model, int4(high));
    for (const float scale : plan.tensors.at("w").scale) EXPECT_GE(scale, 1.0F);
  }
}

TEST(WeightsOnly, ASumThatNoBlockDividesStaysHighAndIsSaid) {
  const Model model = product("[fc] y = MatMul(x, w)", {50, 2});
  const AssignedFormats assigned = assign_formats(model, find_layers(model), int4());
  EXPECT_EQ(assigned.plan.format_of("fc"), Format::Float32);
  ASSERT_EQ(assigned.skipped.size(), 1U);
  EXPECT_EQ(assigned.skipped[0].reason, "it sums over 50 values, not a multiple of 32");
}

TEST(WeightsOnly, TheNextLowFormatTakesWhatInt4Cannot) {
  const Model model = product("[fc] y = MatMul(x, w)", {50, 2});
  PrecisionOptions precision = int4();
  precision.low.push_back(Format::Int8);
  const AssignedFormats assigned = assign_formats(model, find_layers(model), precision);
  EXPECT_EQ(assigned.plan.format_of("fc"), Format::Int8);
  EXPECT_EQ(assigned.skipped[0].runs_in, Format::Int8);
}

TEST(WeightsOnly, Int8WeightsRunAlongOutputChannels) {
  const Model model = product();
  PrecisionOptions precision;
  precision.low = {Format::Int8};
  precision.rules.weights_only = true;
  precision.target = Target::OnnxRuntime;  // no uint8: nothing but weights is quantized
  const TypedModel typed = lower_typed(model, calibrated(model, precision), /*strict=*/true);
  EXPECT_EQ(inputs_of(typed.model, "fc"), (Names{"x", "w_DequantizeLinear_Output"}));
  const onnx::NodeProto& dequantize = node_named(typed.model, "w_dequantize");
  EXPECT_EQ(initializer(typed.model, dequantize.input(0))->dtype(), Dtype::Int8);
  EXPECT_EQ(attribute_int(dequantize, "axis", -9), 1);
}

TEST(WeightsOnly, TheFileShowsTheFormatOfTheWeight) {
  const Model model = product();
  const TypedModel typed = lower_typed(model, calibrated(model, int4()), /*strict=*/true);
  const SimulatedFile simulated = simulate_typed(typed.model);
  ASSERT_EQ(simulated.layers.size(), 1U);
  EXPECT_EQ(simulated.layers[0].format, Format::Int4);
  EXPECT_TRUE(is_initializer(simulated.model, "w_DequantizeLinear_Output")) << "a constant stays one";
}

TEST(WeightsOnly, PlansSayItInTheirFile) {
  const Plan plan = calibrated(product(), int4(Format::BFloat16));
  const Plan again = plan_from_json(plan_to_json(plan), "plan.json");
  EXPECT_EQ(again, plan);
  EXPECT_EQ(again.tensors.at("w").block, 64);
}

// ONNX Runtime's default optimizations refuse the file otherwise: "Missing required weight".
TEST(WeightsOnly, TheGridOfATransposeRoundsAlike) {
  QuantParams params;
  params.format = Format::UInt4;
  params.axis = 0;
  params.block = 2;
  params.scale = {1, 2, 3, 4, 5, 6};  // of [4, 3]
  params.zero_point = {0, 1, 2, 3, 4, 5};
  const QuantParams turned = transposed_params(params, {4, 3});
  EXPECT_EQ(turned.axis, 1);
  EXPECT_EQ(turned.scale, (std::vector<float>{1, 4, 2, 5, 3, 6}));
  EXPECT_EQ(turned.zero_point, (std::vector<std::int32_t>{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(transposed_params(turned, {3, 4}), params);
  params.block = 0;
  params.scale = {1, 2, 3, 4};
  EXPECT_EQ(transposed_params(params, {4, 3}).scale, params.scale);
  EXPECT_EQ(transposed_params(params, {4, 3}).axis, 1);
}

TEST(WeightsOnly, Int4OfBodiesIsHeldInsideThemForOnnxRuntime) {
  Model model = parse_model(R"(
    g (bool c, float[1,64] x) => (float[1,2] y) <float[1] w1 = {1}, float[1] w2 = {1}> {
      [choose] y = If(c) <
        then_branch = t () => (float[1,2] a) { [left] p = MatMul(x, w1) [both] q = MatMul(x, w2) a = Add(p, q) },
        else_branch = e () => (float[1,2] b) { [right] b = MatMul(x, w2) }>
    })",
                            21);
  for (const char* const name : {"w1", "w2"}) {
    set_initializer(model, *model.proto.mutable_graph(), name, Tensor::of({64, 2}, std::vector<float>(128, 0.5F)));
  }
  Plan plan = calibrated(model, int4());
  plan.target = Target::OnnxRuntime;
  const TypedModel typed = lower_typed(model, plan, /*strict=*/true);
  EXPECT_EQ(typed.model.proto.graph().initializer_size(), 0);
  std::map<std::string, std::size_t> held;
  for_each_graph(typed.model.proto.graph(), [&](const onnx::GraphProto& graph) {
    std::set<std::string> own;
    for (const onnx::TensorProto& tensor : graph.initializer()) own.insert(tensor.name());
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() != "DequantizeLinear" && node.op_type() != "MatMulNBits") continue;
      ++held[graph.name()];
      for (const std::string& read : node.input()) {
        EXPECT_TRUE(read == "x" || own.contains(read)) << graph.name() << ' ' << read;
      }
    }
  });
  EXPECT_EQ(held, (std::map<std::string, std::size_t>{{"t", 2}, {"e", 1}}));
  plan.target = Target::TensorRt;
  EXPECT_GT(lower_typed(model, plan, /*strict=*/true).model.proto.graph().initializer_size(), 0);
}

}  // namespace
}  // namespace vernier
