// Plan-driven simulation: where Round nodes stand, which constants are rounded beforehand, and that typed lowering
// makes the same choices.
#include "plan/lower_simulated.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>

#include "plan/lower_typed.h"
#include "plan/round_node.h"
#include "plan/simulate_typed.h"
#include "simulated_graph.h"
#include "vernier/error.h"
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

std::size_t rounds_in(const Model& model) {
  std::size_t count = 0;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) { count += names_of(graph, "Round").size(); });
  return count;
}

TEST(LowerSimulated, AFloat16LayerRoundsInputWeightAndOutput) {
  const Model low = simulated(parse_model(R"(
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {0.1, 1, 2, 3}> { [mm] y = MatMul(x, w) })"),
                              plan_of({{"mm", Format::Float16}}));
  EXPECT_EQ(inputs_of(low, "mm"), (Names{"x/float16", "w/float16"}));
  EXPECT_EQ(values_of(low, "w/float16")[0], 0.0999755859375F);
  EXPECT_EQ(round_behind(low, "x").output(0), "x/float16");
  EXPECT_EQ(round_behind(low, outputs_of(low, "mm")[0]).output(0), "y");
}

TEST(LowerSimulated, ATensorIsRoundedOnceOnItsWayToAllReaders) {
  const Model low = simulated(parse_model(R"(
    g (float[2] x) => (float[2] y, float[2] z) { [a] h = Exp(x) [b] y = Exp(h) [c] z = Neg(h) })"),
                              plan_of({{"a", Format::Float16}, {"b", Format::Float16}, {"c", Format::Float16}}));
  EXPECT_EQ(inputs_of(low, "b"), Names{"h"});  // on the grid since `a` made it
  EXPECT_EQ(rounds_in(low), 4U);               // x, and behind each layer
}

TEST(LowerSimulated, AnInt8LayerQuantizesDataAndWeightAndLeavesBiasAndOutput) {
  const Model low = simulated(parse_model(R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {0.7}, float[1] b = {0.1}> {
      [conv] y = Conv(x, w, b)
    })"),
                              plan_of({{"conv", Format::Int8}}, {{"x", params_of(Format::Int8, {0.5F})},
                                                                 {"w", params_of(Format::Int8, {0.5F}, 0)}}));
  EXPECT_EQ(inputs_of(low, "conv"), (Names{"x/int8", "w/int8", "b"}));
  EXPECT_EQ(values_of(low, "w/int8"), std::vector<float>{0.5F});
  EXPECT_EQ(outputs_of(low, "conv"), Names{"y"});
  EXPECT_EQ(rounds_in(low), 1U);
}

TEST(LowerSimulated, AFollowerOfLowTensorsRoundsItsConstantsAndPassesTheFormatOn) {
  const Model low = simulated(parse_model(R"(
    g (float[2] x) => (float[4] y) <float[2] c = {0.1, 1}> {
      [a] h = Exp(x)
      [cat] k = Concat<axis = 0>(h, c)
      [b] y = Exp(k)
    })"),
                              plan_of({{"a", Format::Float16}, {"b", Format::Float16}}));
  EXPECT_EQ(inputs_of(low, "cat"), (Names{"h", "c/float16"}));
  EXPECT_EQ(inputs_of(low, "b"), Names{"k"});
}

TEST(LowerSimulated, AConcatOfMixedFormatsIsFloat32) {
  const Model low = simulated(parse_model(R"(
    g (float[2] x) => (float[4] y) {
      [a] h = Exp(x)
      [cat] k = Concat<axis = 0>(h, x)
      [b] y = Exp(k)
    })"),
                              plan_of({{"a", Format::Float16}, {"b", Format::Float16}}));
  EXPECT_EQ(inputs_of(low, "cat"), (Names{"h", "x"}));
  EXPECT_EQ(inputs_of(low, "b"), Names{"k/float16"});
}

TEST(LowerSimulated, OnlyInputsThatTheSchemaAdmitsAreRounded) {
  const Model low = simulated(parse_model(R"(
    g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] scales = {1, 1, 2, 2}> {
      [up] y = Resize<mode = "linear">(x, , scales)
    })"),
                              plan_of({{"up", Format::Float16}}));
  EXPECT_EQ(inputs_of(low, "up"), (Names{"x/float16", "", "scales"}));
}

TEST(LowerSimulated, ALayerThatTheSchemaRefusesIsLeftAlone) {
  const Model model = parse_model(
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> "
      "{ [conv] y = Conv(x, w) }");  // bfloat16 from opset 22 on
  EXPECT_EQ(rounds_in(simulated(model, plan_of({{"conv", Format::BFloat16}}))), 0U);
}

TEST(LowerSimulated, AnOperatorThatTheCheckerRefusesIsLeftAlone) {
  const Model model =
      parse_model("g (float[1,2,2,2] x) => (float[1,2,2,2] y) { [mvn] y = MeanVarianceNormalization(x) }");
  EXPECT_EQ(rounds_in(simulated(model, plan_of({{"mvn", Format::Float16}}))), 0U);
}

TEST(LowerSimulated, AFollowerThatTheSchemaRefusesIsFloat32) {
  const Model low = simulated(parse_model(R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y) {
      [a] h = Exp(x)
      [pool] k = MaxPool<kernel_shape = [1, 1]>(h)
      [b] y = Exp(k)
    })"),
                              plan_of({{"a", Format::BFloat16}, {"b", Format::BFloat16}}));
  EXPECT_EQ(inputs_of(low, "b"), Names{"k/bfloat16"});
}

TEST(LowerSimulated, ByproductsOfATypeOfTheirOwnAreNotRounded) {
  const Model low = simulated(parse_model(R"(
    g (float[2,2] x) => (float[2,2] y, float[2,1] mean) <float[2] s = {1, 1}> {
      [norm] y, mean = LayerNormalization(x, s)
    })"),
                              plan_of({{"norm", Format::BFloat16}}));
  EXPECT_EQ(outputs_of(low, "norm")[1], "mean");
}

TEST(LowerSimulated, RmsNormalizationChangesTypeAsAWhole) {
  const Model low = simulated(parse_model(R"(
    g (float[2,2] x, float[2] s) => (float[2,2] y, float[2,2] z) <float[2] w = {1, 2}> {
      [fed] y = RMSNormalization(x, s)
      [own] z = RMSNormalization(x, w)
    })",
                                          23),
                              plan_of({{"fed", Format::Float16}, {"own", Format::Float16}}));
  EXPECT_EQ(inputs_of(low, "fed"), (Names{"x/float16", "s/float16"}));
  EXPECT_EQ(inputs_of(low, "own").front(), "x/float16");
  EXPECT_EQ(round_behind(low, outputs_of(low, "own")[0]).output(0), "z");
}

TEST(LowerSimulated, BodiesAreLoweredWithWhatTheyCapture) {
  const Model low = simulated(parse_model(R"(
    g (bool c, float[2] x) => (float[2] y) {
      [pre] h = Exp(x)
      [choice] y = If (c) <
        then_branch = then_graph () => (float[2] a) { [inner] a = Exp(h) },
        else_branch = else_graph () => (float[2] b) { [other] b = Neg(h) }
      >
    })"),
                              plan_of({{"inner", Format::Float16}}));
  EXPECT_EQ(inputs_of(low, "inner"), Names{"h/float16/then_branch1"});
  EXPECT_EQ(round_behind(low, outputs_of(low, "inner")[0]).output(0), "a");
  EXPECT_EQ(inputs_of(low, "other"), Names{"h"});
}

TEST(LowerSimulated, AMissingRangeIsAnError) {
  const Model model =
      parse_model("g (float[1,2] x) => (float[1,1] y) <float[2,1] w = {1, 1}> { [mm] y = MatMul(x, w) }");
  EXPECT_THROW(simulated(model, plan_of({{"mm", Format::Int8}}, {{"w", params_of(Format::Int8, {1})}})), Error);
}

/// Multiset of the grids that tensors pass, constants left out: what two simulations of one plan must share.
std::multiset<std::string> grids_in(const Model& model) {
  std::multiset<std::string> grids;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() != "Round") continue;
      grids.insert(std::string(format_name(round_params(node).format)));
    }
  });
  return grids;
}

struct BothRoads {
  const char* name;
  const char* graph;
  std::vector<PlannedLayer> layers;
  std::map<std::string, QuantParams> tensors;
};

class BothLowerings : public ::testing::TestWithParam<BothRoads> {};

TEST_P(BothLowerings, RoundTheSameNumberOfTimesToTheSameGrids) {
  const Model model = parse_model(GetParam().graph);
  const Plan plan = plan_of(GetParam().layers, GetParam().tensors);
  const TypedModel typed = lower_typed(model, plan, /*strict=*/true);
  EXPECT_EQ(grids_in(simulated(model, plan)), grids_in(simulate_typed(typed.model).model));
}

INSTANTIATE_TEST_SUITE_P(
    Cases, BothLowerings,
    ::testing::Values(
        BothRoads{"chain",
                  "g (float[2] x) => (float[2] y) { [a] h = Exp(x) [b] k = Exp(h) [c] y = Exp(k) }",
                  {{"a", Format::Float16}, {"b", Format::Float16}, {"c", Format::Float16}},
                  {}},
        BothRoads{"kept_between",
                  "g (float[2] x) => (float[2] y) { [a] h = Exp(x) [b] k = Exp(h) [c] y = Exp(k) }",
                  {{"a", Format::Float16}, {"c", Format::Float16}},
                  {}},
        BothRoads{"int8_between_halves",
                  "g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 2, 3, 4}> "
                  "{ [a] h = Exp(x) [b] k = MatMul(h, w) [c] y = Exp(k) }",
                  {{"a", Format::Float16}, {"b", Format::Int8}, {"c", Format::Float16}},
                  {{"h", params_of(Format::Int8, {0.5F})}, {"w", params_of(Format::Int8, {1, 1}, 1)}}},
        BothRoads{"where",
                  "g (bool[2] c, float[2] x) => (float[2] y) <float v = {-1e9}> "
                  "{ [a] h = Exp(x) [w] k = Where(c, h, v) [b] y = Exp(k) }",
                  {{"a", Format::Float16}, {"b", Format::Float16}},
                  {}},
        BothRoads{"integer_exponent",
                  "g (float[2] x) => (float[2] y) <int64 two = {2}> { [p] y = Pow(x, two) }",
                  {{"p", Format::Float16}},
                  {}},
        BothRoads{"batch_normalization",
                  "g (float[1,1,2] x) => (float[1,1,2] y) <float[1] s = {1}, float[1] b = {0}, float[1] m = {0}, "
                  "float[1] v = {1}> { [n] y = BatchNormalization(x, s, b, m, v) }",
                  {{"n", Format::Float16}},
                  {}}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace vernier
