// What a typed file says, as a float32 graph with Round nodes: casts, low-precision tensors and constants.
#include "plan/simulate_typed.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <utility>

#include "plan/round_node.h"
#include "simulated_graph.h"
#include "vernier/format.h"

namespace vernier {
namespace {

using testing::draft;
using testing::find_node;
using testing::inputs_of;
using testing::low_tensor;
using testing::Names;
using testing::names_of;
using testing::node_named;
using testing::outputs_of;
using testing::parse_model;
using testing::round_behind;
using testing::values_of;
using testing::with_initializer;

Format format_of(const SimulatedFile& file, const std::string& layer) {
  for (const PlannedLayer& planned : file.layers) {
    if (planned.name == layer) return planned.format;
  }
  ADD_FAILURE() << "no layer " << layer;
  return Format::Float32;
}

std::set<int> types_of(const Model& model) {
  std::set<int> types;
  const onnx::GraphProto& graph = model.proto.graph();
  for (const onnx::ValueInfoProto& value : graph.input()) types.insert(value.type().tensor_type().elem_type());
  for (const onnx::ValueInfoProto& value : graph.output()) types.insert(value.type().tensor_type().elem_type());
  for (const onnx::TensorProto& tensor : graph.initializer()) types.insert(tensor.data_type());
  return types;
}

TEST(SimulateTyped, AFloat32FileStaysAsItIs) {
  const SimulatedFile file = simulate_typed(parse_model("g (float[2] x) => (float[2] y) { [e] y = Exp(x) }"));
  EXPECT_EQ(names_of(file.model.proto.graph(), "Round"), Names{});
  EXPECT_EQ(inputs_of(file.model, "e"), Names{"x"});
  EXPECT_EQ(format_of(file, "e"), Format::Float32);
}

TEST(SimulateTyped, SimulationsOfAFileShareItsWidenedWeights) {
  const Model file = with_initializer(draft("g (float16[1024] x) => (float16[1024] y) { [a] y = Add(x, w) }"), "w",
                                      Tensor(Dtype::Float16, {1024}));
  ASSERT_TRUE(file.weights.contains("w")) << "beside the message";
  WidenedWeights weights;
  const auto bytes_of = [&](const Arithmetic& arithmetic, WidenedWeights* shared) {
    const Tensor wide = simulate_typed(file, arithmetic, kOneCopyAbove, shared).model.weights.at("w");
    EXPECT_EQ(wide.dtype(), Dtype::Float32);
    return std::pair(wide, static_cast<const void*>(wide.bytes().data()));
  };
  const auto first = bytes_of({}, &weights);
  EXPECT_EQ(bytes_of({Accumulate::Float16}, &weights).second, first.second);
  EXPECT_NE(bytes_of({}, nullptr).second, first.second);
}

TEST(SimulateTyped, ACastDownRoundsAndACastUpDoesNothing) {
  const SimulatedFile file = simulate_typed(parse_model(R"(
    g (float[2] x) => (float[2] y) {
      [down] h = Cast<to = 10>(x)
      [e] g16 = Exp(h)
      [up] y = Cast<to = 1>(g16)
    })"));
  EXPECT_EQ(node_named(file.model, "down").op_type(), "Round");
  EXPECT_EQ(round_params(node_named(file.model, "down")).format, Format::Float16);
  EXPECT_EQ(outputs_of(file.model, "down"), Names{"h"});
  EXPECT_EQ(node_named(file.model, "up").op_type(), "Identity");
  EXPECT_EQ(format_of(file, "e"), Format::Float16);
}

TEST(SimulateTyped, EachLowNodeIsRoundedBehindAndKeepsItsNames) {
  const SimulatedFile file = simulate_typed(parse_model(R"(
    g (float[2] x) => (float[2] y) {
      [down] h = Cast<to = 16>(x)
      [e] made = Exp(h)
      [up] y = Cast<to = 1>(made)
    })"));
  EXPECT_EQ(outputs_of(file.model, "e"), Names{"made/unrounded"});
  const onnx::NodeProto& round = round_behind(file.model, "made/unrounded");
  EXPECT_EQ(round.output(0), "made");
  EXPECT_EQ(round_params(round).format, Format::BFloat16);
}

TEST(SimulateTyped, MovedValuesAreNotRoundedAgain) {
  const SimulatedFile file = simulate_typed(parse_model(R"(
    g (float[2, 3] x) => (float[3, 2] y) {
      [down] h = Cast<to = 10>(x)
      [t] moved = Transpose<perm = [1, 0]>(h)
      [r] kept = Relu(moved)
      [up] y = Cast<to = 1>(kept)
    })"));
  EXPECT_EQ(outputs_of(file.model, "t"), Names{"moved"});
  EXPECT_EQ(outputs_of(file.model, "r"), Names{"kept"});
}

TEST(SimulateTyped, ClipIsRoundedBecauseItsBoundsMayLieOffTheGrid) {
  const SimulatedFile file = simulate_typed(
      parse_model("g (float16[2] x) => (float16[2] y) { [c] y = Clip<min = 0.1, max = 0.9>(x) }", /*opset=*/6));
  EXPECT_EQ(outputs_of(file.model, "c"), Names{"y/unrounded"});
}

TEST(SimulateTyped, Float16InputsAreRoundedAndOutputsWidened) {
  const SimulatedFile file = simulate_typed(parse_model("g (float16[2] x) => (float16[2] y) { [e] y = Exp(x) }"));
  EXPECT_EQ(types_of(file.model), std::set<int>{onnx::TensorProto::FLOAT});
  EXPECT_EQ(inputs_of(file.model, "e"), Names{"x/rounded"});
  EXPECT_EQ(round_behind(file.model, "x").output(0), "x/rounded");
  EXPECT_EQ(round_behind(file.model, "y/unrounded").output(0), "y");
}

TEST(SimulateTyped, LowConstantsAreWidenedExactly) {
  const Model model = with_initializer(draft("g (float16[2] x) => (float16[2] y) { [a] y = Add(x, c) }"), "c",
                                       low_tensor(Format::Float16, {2}, {0.1F, 70000.0F}));
  const SimulatedFile file = simulate_typed(model);
  const std::vector<float> values = values_of(file.model, "c");
  EXPECT_EQ(values[0], 0.0999755859375F);  // 0x2E66
  EXPECT_TRUE(std::isinf(values[1]));
}

TEST(SimulateTyped, ConstantNodesAreReadAsConstants) {
  const SimulatedFile file = simulate_typed(parse_model(R"(
    g (float[2] x) => (float[2] y) {
      [s] scale = Constant<value_float = 0.5>()
      [q] codes = QuantizeLinear(x, scale)
      [d] z = DequantizeLinear(codes, scale)
      [e] y = Exp(z)
    })"));
  const onnx::NodeProto& round = node_named(file.model, "d");
  EXPECT_EQ(round.op_type(), "Round");
  EXPECT_EQ(round_params(round).format, Format::UInt8);  // no zero point: the type is uint8
  EXPECT_EQ(round_params(round).scale, std::vector<float>{0.5F});
}

TEST(SimulateTyped, ACastOfAConstantIsAConstant) {
  const SimulatedFile file = simulate_typed(parse_model(R"(
    g (float16[2] x) => (float16[2] y) <float[2] c = {0.1, 1}> {
      [down] h = Cast<to = 10>(c)
      [a] y = Add(x, h)
    })"));
  EXPECT_EQ(find_node(file.model.proto.graph(), "down"), nullptr);
  EXPECT_EQ(values_of(file.model, "h"), (std::vector<float>{0.0999755859375F, 1}));
}

TEST(SimulateTyped, IntegersReachLowFormatsThroughFloat32) {
  const SimulatedFile file =
      simulate_typed(parse_model("g (int64[2] x) => (float16[2] y) { [down] h = Cast<to = 10>(x) [e] y = Exp(h) }"));
  EXPECT_EQ(attribute_int(node_named(file.model, "down"), "to", 0), onnx::TensorProto::FLOAT);
  EXPECT_EQ(round_behind(file.model, "h/unrounded").output(0), "h");
}

TEST(SimulateTyped, CastsBetweenOtherTypesAreLeftAlone) {
  const SimulatedFile file = simulate_typed(parse_model("g (int64[2] x) => (float[2] y) { [c] y = Cast<to = 1>(x) }"));
  EXPECT_EQ(node_named(file.model, "c").op_type(), "Cast");
}

TEST(SimulateTyped, BodiesOfAnIfAreSimulatedToo) {
  const SimulatedFile file = simulate_typed(parse_model(R"(
    g (bool c, float16[2] x) => (float16[2] y) {
      [choice] y = If (c) <
        then_branch = then_graph () => (float16[2] a) { [inner] a = Exp(x) },
        else_branch = else_graph () => (float16[2] b) { [other] b = Neg(x) }
      >
    })"));
  EXPECT_EQ(inputs_of(file.model, "inner"), Names{"x/rounded"});
  EXPECT_EQ(outputs_of(file.model, "inner"), Names{"a/unrounded"});
  EXPECT_EQ(outputs_of(file.model, "other"), Names{"b"});  // changing a sign rounds nothing
  EXPECT_EQ(outputs_of(file.model, "choice"), Names{"y"});
  const onnx::GraphProto& body = node_named(file.model, "choice").attribute(0).g();
  EXPECT_EQ(body.output(0).type().tensor_type().elem_type(), onnx::TensorProto::FLOAT);
  EXPECT_EQ(format_of(file, "inner"), Format::Float16);
}

TEST(SimulateTyped, OperatorsOfUnknownTypeBehindLowTensorsAreNoted) {
  Model model = parse_model("g (float16[2] x) => (float16[2] y) { [k] z = Exp(x) [e] y = Exp(z) }");
  model.proto.mutable_graph()->mutable_node(0)->set_domain("com.microsoft");
  set_opset(model.proto, "com.microsoft", 1);
  const SimulatedFile file = simulate_typed(model);
  ASSERT_EQ(file.notes.size(), 1U);
  EXPECT_EQ(file.notes[0], (Note{"type-not-known", {{"operator", "com.microsoft.Exp"}, {"node", "k"}}}));
}

TEST(SimulateTyped, SaysThatTheInsideOfARecurrentLayerIsNotSimulated) {
  const SimulatedFile simulated = simulate_typed(parse_model(R"(
    g (float[1,1,2] x) => (float[1,1,1,1] y, float[1,1,1,1] z)
    <float[1,4,2] w = {1, 2, 3, 4, 5, 6, 7, 8}, float[1,4,1] r = {1, 2, 3, 4}> {
      [cx] xh = Cast<to = 10>(x)
      [cw] wh = Cast<to = 10>(w)
      [cr] rh = Cast<to = 10>(r)
      [low] h = LSTM<hidden_size = 1>(xh, wh, rh)
      [back] y = Cast<to = 1>(h)
      [high] z = LSTM<hidden_size = 1>(x, w, r)
    })"));
  EXPECT_EQ(simulated.notes,
            (std::vector<Note>{{"recurrence-not-simulated", {{"layer", "low"}, {"operator", "LSTM"}}}}));
}

}  // namespace
}  // namespace vernier
