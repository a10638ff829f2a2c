// Typed lowering to formats with a scale: QuantizeLinear / DequantizeLinear pairs, stored codes and their axis.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "model/output_channels.h"
#include "plan/lower_typed.h"
#include "tiny_graph.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::inputs_of;
using testing::Names;
using testing::names_of;
using testing::node_named;
using testing::params_of;
using testing::parse_model;
using testing::plan_of;

std::vector<int> codes_of(const Model& model, const std::string& name) {
  std::vector<int> codes;
  const Tensor stored = initializer(model, name).value();
  for (const std::byte code : stored.bytes()) codes.push_back(std::to_integer<std::int8_t>(code));
  return codes;
}

/// A layer `layer` with a weight of shape [2, 3] (and ones behind it) whose scales 1 and 2 (and 4) run along `axis`.
TypedModel lowered_weight(const std::string& graph, int axis) {
  const std::vector<float> scale = axis == 0 ? std::vector<float>{1, 2} : std::vector<float>{1, 2, 4};
  return lower_typed(parse_model(graph),
                     plan_of({{"layer", Format::Int8}},
                             {{"x", params_of(Format::Int8, {0.5F})}, {"w", params_of(Format::Int8, scale, axis)}}),
                     /*strict=*/true);
}

TEST(LowerTyped, QuantizesDataAndWeightButNotTheBiasOfAConvolution) {
  const TypedModel typed = lowered_weight(
      "g (float[1,3,1,1] x) => (float[1,2,1,1] y) <float[2,3,1,1] w = {4,4,4,4,4,4}, float[2] b = {1,1}> "
      "{ [layer] y = Conv(x, w, b) }",
      0);
  EXPECT_EQ(inputs_of(typed.model, "layer"), (Names{"x_DequantizeLinear_Output", "w_DequantizeLinear_Output", "b"}));
  EXPECT_EQ(inputs_of(typed.model, "x_quantize"), (Names{"x", "x_scale", "x_zero_point"}));
  EXPECT_EQ(inputs_of(typed.model, "x_dequantize"), (Names{"x_QuantizeLinear_Output", "x_scale", "x_zero_point"}));
  EXPECT_EQ(inputs_of(typed.model, "w_dequantize"), (Names{"w_quantized", "w_scale", "w_zero_point"}));
  EXPECT_EQ(codes_of(typed.model, "w_quantized"), (std::vector<int>{4, 4, 4, 2, 2, 2}));
  EXPECT_EQ(attribute_int(node_named(typed.model, "w_dequantize"), "axis", -9), 0);
  EXPECT_FALSE(is_initializer(typed.model, "w"));
  EXPECT_EQ(typed.quantize_pairs, 2);
  EXPECT_EQ(typed.casts, 0);
  EXPECT_EQ(typed.weight_bytes, 6 + 2 * 4 + 4 + 1 + 8 + 2);  // codes, bias, x scale and zero, w scales and zeros
}

TEST(LowerTyped, ScalesOfAConvTransposeWeightRunAlongAxis1) {
  const TypedModel typed = lowered_weight(
      "g (float[1,2,1,1] x) => (float[1,3,1,1] y) <float[2,3,1,1] w = {4,4,4,4,4,4}> { [layer] y = ConvTranspose(x, w) "
      "}",
      1);
  EXPECT_EQ(codes_of(typed.model, "w_quantized"), (std::vector<int>{4, 2, 1, 4, 2, 1}));
  EXPECT_EQ(attribute_int(node_named(typed.model, "w_dequantize"), "axis", -9), 1);
}

TEST(LowerTyped, ScalesOfAGemmWeightRunAlongItsOutputAxis) {
  const TypedModel plain =
      lowered_weight("g (float[1,2] x) => (float[1,3] y) <float[2,3] w = {4,4,4,4,4,4}> { [layer] y = Gemm(x, w) }", 1);
  EXPECT_EQ(codes_of(plain.model, "w_quantized"), (std::vector<int>{4, 2, 1, 4, 2, 1}));
  const TypedModel transposed = lowered_weight(
      "g (float[1,3] x) => (float[1,2] y) <float[2,3] w = {4,4,4,4,4,4}> { [layer] y = Gemm<transB = 1>(x, w) }", 0);
  EXPECT_EQ(codes_of(transposed.model, "w_quantized"), (std::vector<int>{4, 4, 4, 2, 2, 2}));
}

TEST(LowerTyped, ScalesOfAMatMulWeightRunAlongItsLastAxis) {
  const TypedModel typed = lowered_weight(
      "g (float[1,2] x) => (float[1,3] y) <float[2,3] w = {4,4,4,4,4,4}> { [layer] y = MatMul(x, w) }", 1);
  EXPECT_EQ(codes_of(typed.model, "w_quantized"), (std::vector<int>{4, 2, 1, 4, 2, 1}));
}

TEST(LowerTyped, RefusesScalesAlongTheWrongAxis) {
  try {
    lowered_weight("g (float[1,2] x) => (float[1,3] y) <float[2,3] w = {4,4,4,4,4,4}> { [layer] y = MatMul(x, w) }", 0);
    FAIL() << "scales along the reduced axis went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_STREQ(error.what(),
                 "layer 'layer' (MatMul) cannot run in INT8: the scales of its weight 'w' run along axis 0, its output "
                 "channels along axis 1");
  }
}

TEST(WeightAxis, IsMinusOneWhereThereIsNone) {
  onnx::NodeProto node;
  node.set_op_type("Add");
  EXPECT_EQ(weight_axis(node, {2, 2, 2, 2}), -1);
  node.set_op_type("MatMul");
  EXPECT_EQ(weight_axis(node, {2}), -1);
  EXPECT_EQ(weight_axis(node, {2, 2, 2}), 2);
}

const char* const kTwoReaders = R"(
  g (float[2,2] x) => (float[2,2] y, float[2,2] z) <float[2,2] w = {1, 2, 3, 4}> {
    [pre] a = Relu(x)
    [one] y = MatMul(a, w)
    [two] z = MatMul(a, w)
  })";

TEST(LowerTyped, OnePairServesAllReadersOfATensor) {
  const TypedModel typed =
      lower_typed(parse_model(kTwoReaders),
                  plan_of({{"one", Format::Int8}, {"two", Format::Int8}},
                          {{"a", params_of(Format::Int8, {0.5F})}, {"w", params_of(Format::Int8, {1.0F})}}),
                  true);
  EXPECT_EQ(typed.quantize_pairs, 2);
  EXPECT_EQ(names_of(typed.model.proto.graph(), "QuantizeLinear"), Names{"a_quantize"});
  EXPECT_EQ(inputs_of(typed.model, "two"), (Names{"a_DequantizeLinear_Output", "w_DequantizeLinear_Output"}));
  EXPECT_EQ(initializer(typed.model, "w_scale")->shape(), Shape{});
}

TEST(LowerTyped, AFloat16NeighbourIsCastBeforeAndAfterAnInt8Layer) {
  const Model model = parse_model(R"(
    g (float[2,2] x) => (float[2,2] y) <float[2,2] w = {1, 2, 3, 4}> {
      [pre] a = Relu(x)
      [mm] b = MatMul(a, w)
      [post] y = Exp(b)
    })");
  const TypedModel typed =
      lower_typed(model,
                  plan_of({{"pre", Format::Float16}, {"mm", Format::Int8}, {"post", Format::Float16}},
                          {{"a", params_of(Format::Int8, {0.5F})}, {"w", params_of(Format::Int8, {1.0F})}}),
                  true);
  EXPECT_EQ(names_of(typed.model.proto.graph(), "Cast"),
            (Names{"x_cast_float16", "a_cast_float32", "b_cast_float16", "y_cast_float32"}));
  EXPECT_EQ(inputs_of(typed.model, "a_quantize")[0], "a");
  EXPECT_EQ(infer_types(typed.model).at("b").dtype, Dtype::Float32);
}

TEST(LowerTyped, AsymmetricUint8KeepsItsZeroPoint) {
  QuantParams params = params_of(Format::UInt8, {0.5F});
  params.zero_point = {128};
  const TypedModel typed =
      lower_typed(parse_model(kTwoReaders),
                  plan_of({{"one", Format::UInt8}}, {{"a", params}, {"w", params_of(Format::Int8, {1.0F})}}), true);
  const Tensor zero = initializer(typed.model, "a_zero_point").value();
  EXPECT_EQ(zero.dtype(), Dtype::UInt8);
  EXPECT_EQ(zero.bytes()[0], std::byte{128});
  EXPECT_TRUE(is_initializer(typed.model, "w"));  // `two` still reads it
}

TEST(LowerTyped, Float8NeedsOpset19AndHasAFloat8ZeroPoint) {
  const Plan plan = plan_of({{"one", Format::Float8E4M3FN}}, {{"a", params_of(Format::Float8E4M3FN, {0.5F})},
                                                              {"w", params_of(Format::Float8E4M3FN, {1.0F})}});
  const TypedModel typed = lower_typed(parse_model(kTwoReaders, 19), plan, true);
  EXPECT_EQ(initializer(typed.model, "a_zero_point")->dtype(), Dtype::Float8E4M3FN);
  const Tensor codes = initializer(typed.model, "w_quantized").value();
  EXPECT_EQ(codes.bytes()[0], std::byte{0x38});  // 1.0
  try {
    lower_typed(parse_model(kTwoReaders, 18), plan, true);
    FAIL() << "float8 at opset 18 went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);  // prepare should have raised the opset
  }
}

TEST(LowerTyped, PerAxisScalesNeedOpset13) {
  const Plan plan = plan_of({{"one", Format::Int8}},
                            {{"a", params_of(Format::Int8, {0.5F})}, {"w", params_of(Format::Int8, {1, 2}, 1)}});
  EXPECT_THROW(lower_typed(parse_model(kTwoReaders, 12), plan, false), Error);
  EXPECT_EQ(lower_typed(parse_model(kTwoReaders, 13), plan, false).quantize_pairs, 2);
}

TEST(LowerTyped, Int4WeightsArePackedLowHalfFirst) {
  const TypedModel typed = lower_typed(parse_model(kTwoReaders, 21),
                                       plan_of({{"one", Format::Int8}}, {{"a", params_of(Format::Int8, {0.5F})},
                                                                         {"w", params_of(Format::Int4, {1.0F})}}),
                                       true);
  const Tensor codes = initializer(typed.model, "w_quantized").value();
  ASSERT_EQ(codes.byte_size(), 2U);
  EXPECT_EQ(codes.bytes()[0], std::byte{0x21});
  EXPECT_EQ(codes.bytes()[1], std::byte{0x43});
}

TEST(LowerTyped, ALayerWithoutARangeStaysFloat32OrIsRefused) {
  const Plan plan = plan_of({{"one", Format::Int8}}, {{"w", params_of(Format::Int8, {1.0F})}});
  const TypedModel typed = lower_typed(parse_model(kTwoReaders), plan, false);
  ASSERT_EQ(typed.notes.size(), 1U);
  EXPECT_EQ(typed.notes[0], (Note{"layer-not-lowered",
                                  {{"layer", "one"},
                                   {"operator", "MatMul"},
                                   {"format", "int8"},
                                   {"reason", "the plan has no range for its input 'a'"}}}));
  EXPECT_EQ(typed.quantize_pairs, 0);
  EXPECT_THROW(lower_typed(parse_model(kTwoReaders), plan, true), Error);
}

TEST(LowerTyped, UnweightedOperatorsQuantizeWhatThePlanNames) {
  const Model model =
      parse_model("g (float[2] x) => (float[2] y) <float[2] c = {1, 2}> { [pre] a = Relu(x) [add] y = Add(a, c) }");
  const TypedModel typed =
      lower_typed(model, plan_of({{"add", Format::Int8}}, {{"a", params_of(Format::Int8, {0.5F})}}), true);
  EXPECT_EQ(inputs_of(typed.model, "add"), (Names{"a_DequantizeLinear_Output", "c"}));
}

/// Two MatMuls in a row, both quantized; the first weight has three dimensions and a scale for each column.
TEST(LowerScaled, AWeightOfThreeDimensionsIsWrittenSoThatOnnxRuntimeRunsIt) {
  const TypedModel typed = lower_typed(
      parse_model(
          "g (float[2,1,2] x) => (float[2,1,2] y) <float[2,2,2] w = {1,2,3,4,5,6,7,8}, float[2,2] v = {1,2,3,4}>"
          " { [one] m = MatMul(x, w) [two] y = MatMul(m, v) }"),
      plan_of({{"one", Format::Int8}, {"two", Format::Int8}}, {{"x", params_of(Format::Int8, {0.5F})},
                                                               {"m", params_of(Format::Int8, {0.5F})},
                                                               {"w", params_of(Format::Int8, {1, 2}, 2)},
                                                               {"v", params_of(Format::Int8, {1, 2}, 1)}}),
      /*strict=*/true);
  EXPECT_EQ(inputs_of(typed.model, "w_dequantize"), (Names{"w_quantized", "w_scale"}));
  EXPECT_EQ(inputs_of(typed.model, "v_dequantize"), (Names{"v_quantized", "v_scale", "v_zero_point"}));
  EXPECT_FALSE(is_initializer(typed.model, "w_zero_point"));
  // QLinearMatMul takes no scale for each column of such a weight.
  EXPECT_EQ(inputs_of(typed.model, "m_quantize").front(), "m");
  EXPECT_EQ(inputs_of(typed.model, "m_stays_unfused"), Names{"m_unfused"});
}

}  // namespace
}  // namespace vernier
