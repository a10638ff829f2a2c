// Typed lowering to float16 and bfloat16: where the Casts stand, and what keeps its name.
#include <gtest/gtest.h>

#include <cstddef>

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
using testing::outputs_of;
using testing::parse_model;
using testing::plan_of;

const char* const kLowChain = R"(
  g (float[2,2] x) => (float[2,2] y)
  <float[2,2] w1 = {1, 2, 3, 4}, float[2,2] w2 = {5, 6, 7, 8}, float[1] one = {1}> {
    [mm1] a = MatMul(x, w1)
    [add] add_out_1 = Add(a, one)
    [sub] b = Sub(add_out_1, one)
    [mm2] y = MatMul(b, w2)
  })";

TEST(LowerTyped, AllFloat32IsTheInputGraphByteForByte) {
  const Model model = parse_model(kLowChain);
  const TypedModel typed = lower_typed(model, plan_of({{"mm1", Format::Float32}}), /*strict=*/true);
  EXPECT_EQ(typed.model.proto.graph().SerializeAsString(), model.proto.graph().SerializeAsString());
  EXPECT_EQ(typed.casts, 0);
  EXPECT_TRUE(typed.notes.empty());
}

TEST(LowerTyped, TensorBetweenTwoKeptLayersStaysFloat32UnderItsName) {
  const TypedModel typed =
      lower_typed(parse_model(kLowChain), plan_of({{"mm1", Format::Float16}, {"mm2", Format::Float16}}), true);
  EXPECT_EQ(names_of(typed.model.proto.graph(), "Cast"),
            (Names{"x_cast_float16", "a_cast_float32", "b_cast_float16", "y_cast_float32"}));
  EXPECT_EQ(typed.casts, 4);
  EXPECT_EQ(outputs_of(typed.model, "mm1"), Names{"a.float16"});
  EXPECT_EQ(inputs_of(typed.model, "add"), (Names{"a", "one"}));
  EXPECT_EQ(outputs_of(typed.model, "add"), Names{"add_out_1"});
  EXPECT_EQ(inputs_of(typed.model, "sub"), (Names{"add_out_1", "one"}));
  EXPECT_EQ(inputs_of(typed.model, "mm2"), (Names{"b.float16", "w2.float16"}));
  EXPECT_EQ(infer_types(typed.model).at("add_out_1").dtype, Dtype::Float32);
}

TEST(LowerTyped, WholeGraphInFloat16HasCastsAtItsEdgesOnlyAndHalfTheWeights) {
  const TypedModel typed = lower_typed(
      parse_model(kLowChain),
      plan_of({{"mm1", Format::Float16}, {"add", Format::Float16}, {"sub", Format::Float16}, {"mm2", Format::Float16}}),
      true);
  EXPECT_EQ(typed.casts, 2);
  EXPECT_EQ(typed.weight_bytes, 2 * (4 + 4 + 1));  // "one" has two readers and one copy; the originals are gone
  EXPECT_FALSE(is_initializer(typed.model, "w1"));
  EXPECT_EQ(typed.model.proto.graph().input(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(typed.model.proto.graph().output(0).name(), "y");
}

TEST(LowerTyped, OneCastServesAllReadersAndAWeightKeepsItsOriginalForFloat32Readers) {
  const Model model = parse_model(R"(
    g (float[2,2] x) => (float[2,2] p, float[2,2] q, float[2,2] r) <float[2,2] w = {1, 2, 3, 4}> {
      [a] p = MatMul(x, w)
      [b] q = MatMul(x, w)
      [c] r = MatMul(x, w)
    })");
  const TypedModel typed = lower_typed(model, plan_of({{"a", Format::Float16}, {"b", Format::Float16}}), true);
  EXPECT_EQ(names_of(typed.model.proto.graph(), "Cast"), (Names{"x_cast_float16", "p_cast_float32", "q_cast_float32"}));
  EXPECT_EQ(inputs_of(typed.model, "c"), (Names{"x", "w"}));
  EXPECT_EQ(typed.weight_bytes, 4 * 4 + 4 * 2);
}

TEST(LowerTyped, FollowersTakeTheFormatOfAllTheirInputsElseFloat32) {
  const Model model = parse_model(R"(
    g (float[2,2] x) => (float[2,4] y, float[4,2] z) {
      [a] p = Relu(x)
      [b] q = Exp(x)
      [t] pt = Transpose<perm = [1, 0]>(p)
      [same] z = Concat<axis = 0>(p, pt)
      [mixed] y = Concat<axis = 1>(pt, q)
    })");
  const TypedModel typed = lower_typed(model, plan_of({{"a", Format::Float16}}), true);
  EXPECT_EQ(inputs_of(typed.model, "same"), (Names{"p.float16", "pt.float16"}));
  EXPECT_EQ(inputs_of(typed.model, "mixed"), (Names{"pt", "q"}));
  EXPECT_EQ(names_of(typed.model.proto.graph(), "Cast"),
            (Names{"x_cast_float16", "pt_cast_float32", "z_cast_float32"}));
}

TEST(LowerTyped, OneOutputOfASplitGoesBackToFloat32WithoutTheOther) {
  const Model model = parse_model(R"(
    g (float[2,4] x) => (float[2,2] y, float[2,2] z) {
      [a] p = Relu(x)
      [s] l, r = Split<axis = 1>(p)
      [low] y = Relu(l)
      [high] z = Exp(r)
    })");
  const TypedModel typed = lower_typed(model, plan_of({{"a", Format::Float16}, {"low", Format::Float16}}), true);
  EXPECT_EQ(outputs_of(typed.model, "s"), (Names{"l.float16", "r.float16"}));
  EXPECT_EQ(inputs_of(typed.model, "low"), Names{"l.float16"});
  EXPECT_EQ(names_of(typed.model.proto.graph(), "Cast"), (Names{"x_cast_float16", "r_cast_float32", "y_cast_float32"}));
}

TEST(LowerTyped, InputsOfOneTypeVariableChangeTogetherAndOthersDoNot) {
  const Model model = parse_model(R"(
    g (float[1,1,2,2] x, bool[1,1,2,2] c) => (float[1,1,4,4] y)
    <float lo = {0}, float hi = {6}, float zero = {0}, float[1] slope = {0.25}, float[4] scales = {1, 1, 2, 2}> {
      [clip] a = Clip(x, lo, hi)
      [where] b = Where(c, a, zero)
      [prelu] d = PRelu(b, slope)
      [resize] y = Resize<mode = "linear">(d, , scales)
    })");
  const TypedModel typed = lower_typed(model,
                                       plan_of({{"clip", Format::Float16},
                                                {"where", Format::Float16},
                                                {"prelu", Format::Float16},
                                                {"resize", Format::Float16}}),
                                       true);
  EXPECT_EQ(inputs_of(typed.model, "clip"), (Names{"x.float16", "lo.float16", "hi.float16"}));
  EXPECT_EQ(inputs_of(typed.model, "where"), (Names{"c", "a.float16", "zero.float16"}));
  EXPECT_EQ(inputs_of(typed.model, "prelu"), (Names{"b.float16", "slope.float16"}));
  EXPECT_EQ(inputs_of(typed.model, "resize"), (Names{"d.float16", "", "scales"}));
  EXPECT_EQ(typed.casts, 2);
}

TEST(LowerTyped, BatchNormalizationAndLstmChangeAllTheirFloatInputs) {
  const Model model = parse_model(R"(
    g (float[1,2,3] x) => (float[1,1,2,1] y)
    <float[2] s = {1, 1}, float[2] o = {0, 0}, float[2] m = {0, 0}, float[2] v = {1, 1},
     float[1,4,3] w = {1,1,1,1,1,1,1,1,1,1,1,1}, float[1,4,1] r = {1, 1, 1, 1}> {
      [bn] a = BatchNormalization(x, s, o, m, v)
      [lstm] y = LSTM<hidden_size = 1>(a, w, r)
    })");
  const TypedModel typed = lower_typed(model, plan_of({{"bn", Format::Float16}, {"lstm", Format::Float16}}), true);
  EXPECT_EQ(inputs_of(typed.model, "bn"), (Names{"x.float16", "s.float16", "o.float16", "m.float16", "v.float16"}));
  EXPECT_EQ(inputs_of(typed.model, "lstm"), (Names{"a.float16", "w.float16", "r.float16"}));
}

TEST(LowerTyped, TheFilesOwnCastChangesItsTargetInsteadOfGettingAnother) {
  const Model model = parse_model(R"(
    g (bool[2] c, float[2] x) => (float[2] y) {
      [mask] m = Cast<to = 1>(c)
      [mul] y = Mul(x, m)
    })");
  const TypedModel typed = lower_typed(model, plan_of({{"mul", Format::Float16}}), true);
  EXPECT_EQ(attribute_int(testing::node_named(typed.model, "mask"), "to", 0), onnx::TensorProto::FLOAT16);
  EXPECT_EQ(typed.casts, 2);  // x, and y back
}

TEST(LowerTyped, ACastIsNeverCastAgain) {
  const Model model = parse_model(R"(
    g (bool[2] c, float[2] x) => (float[2] y, float[2] z, int64[2] i) {
      [mask] m = Cast<to = 1>(c)
      [mul] y = Mul(x, m)
      [add] z = Add(x, m)
      [index] i = Cast<to = 7>(y)
    })");
  const TypedModel typed = lower_typed(model, plan_of({{"mul", Format::Float16}}), true);
  EXPECT_EQ(inputs_of(typed.model, "m_cast_float16"), Names{"c"});
  EXPECT_EQ(inputs_of(typed.model, "add"), (Names{"x", "m"}));
  EXPECT_EQ(inputs_of(typed.model, "index"), Names{"y.float16"});
}

TEST(LowerTyped, NeighboursInTwoLowFormatsAreJoinedByOneCast) {
  const Model model = parse_model("g (float[2] x) => (float[2] y) { [a] p = Exp(x) [b] y = Exp(p) }");
  const TypedModel typed = lower_typed(model, plan_of({{"a", Format::Float16}, {"b", Format::BFloat16}}), true);
  EXPECT_EQ(names_of(typed.model.proto.graph(), "Cast"),
            (Names{"x_cast_float16", "p_cast_bfloat16", "y_cast_float32"}));
  EXPECT_EQ(inputs_of(typed.model, "p_cast_bfloat16"), Names{"p.float16"});
}

TEST(LowerTyped, AnOperatorWhoseSchemaLacksTheFormatStaysFloat32AndIsListed) {
  const Model model = parse_model(
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2}> "
      "{ [conv] y = Conv(x, w) }");
  const Plan plan = plan_of({{"conv", Format::BFloat16}});  // Conv takes bfloat16 from opset 22 on
  const TypedModel typed = lower_typed(model, plan, /*strict=*/false);
  EXPECT_EQ(typed.casts, 0);
  ASSERT_EQ(typed.notes.size(), 1U);
  EXPECT_EQ(typed.notes[0],
            (Note{"layer-not-lowered",
                  {{"layer", "conv"},
                   {"operator", "Conv"},
                   {"format", "bfloat16"},
                   {"reason", "the schema of Conv at opset 17 does not admit bfloat16 on its data path"}}}));
  try {
    lower_typed(model, plan, /*strict=*/true);
    FAIL() << "strict lowering went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
  }
}

TEST(LowerTyped, BFloat16ConvolutionRunsAtOpset22) {
  const Model model = parse_model(
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2}> "
      "{ [conv] y = Conv(x, w) }",
      22);
  const TypedModel typed = lower_typed(model, plan_of({{"conv", Format::BFloat16}}), true);
  EXPECT_EQ(inputs_of(typed.model, "conv"), (Names{"x.bfloat16", "w.bfloat16"}));
  EXPECT_EQ(initializer(typed.model, "w.bfloat16")->dtype(), Dtype::BFloat16);
}

TEST(LowerTyped, ALayerThatTheModelLacksIsReported) {
  const TypedModel typed = lower_typed(parse_model(kLowChain), plan_of({{"mm9", Format::Float16}}), false);
  ASSERT_EQ(typed.notes.size(), 1U);
  EXPECT_EQ(typed.notes[0].code, "layer-not-lowered");
  EXPECT_EQ(*typed.notes[0].find("layer"), NoteValue("mm9"));
  EXPECT_THROW(lower_typed(parse_model(kLowChain), plan_of({{"mm9", Format::Float16}}), true), Error);
}

TEST(LowerTyped, WeightsThatOverflowAreNamedAndNotClamped) {
  const Model model =
      parse_model("g (float[2] x) => (float[2] y) <float[2] mask = {0, -1000000000}> { [add] y = Add(x, mask) }");
  const TypedModel typed = lower_typed(model, plan_of({{"add", Format::Float16}}), true);
  ASSERT_EQ(typed.notes.size(), 1U);
  EXPECT_EQ(typed.notes[0], (Note{"weight-overflows",
                                  {{"count", 1},
                                   {"of", 2},
                                   {"initializer", "mask"},
                                   {"format", "float16"},
                                   {"worst", -1e9},
                                   {"layer", "add"}}}));
  const Tensor stored = initializer(typed.model, "mask.float16").value();
  EXPECT_EQ(stored.bytes()[3], std::byte{0xFC});  // -inf
}

TEST(LowerTyped, BodiesAreLoweredByThemselvesWithFloat32AtTheirBorder) {
  const Model model = parse_model(R"(
    g (bool c, float[2] x) => (float[2] y) <float[2] w = {1, 2}> {
      [outer] p = Mul(x, w)
      [if] y = If (c) <
        then_branch = t () => (float[2] ty) { [inner] q = Mul(p, w) [exp] ty = Exp(q) },
        else_branch = e () => (float[2] ey) { [other] ey = Mul(p, w) }
      >
    })");
  const TypedModel typed = lower_typed(
      model, plan_of({{"outer", Format::Float16}, {"inner", Format::Float16}, {"exp", Format::Float16}}), true);
  const onnx::GraphProto& main = typed.model.proto.graph();
  EXPECT_EQ(names_of(main, "Cast"), (Names{"x_cast_float16", "p_cast_float32"}));
  const onnx::GraphProto& branch = find_attribute(testing::node_named(typed.model, "if"), "then_branch")->g();
  EXPECT_EQ(names_of(branch, "Cast").size(), 2U);  // p in, ty out
  EXPECT_EQ(branch.output(0).name(), "ty");
  EXPECT_EQ(inputs_of(typed.model, "inner")[1], "w.float16");  // the copy that `outer` reads too
  EXPECT_EQ(inputs_of(typed.model, "other"), (Names{"p", "w"}));
  EXPECT_EQ(typed.casts, 4);
}

}  // namespace
}  // namespace vernier
