// Both lowerings under a target with integer kernels: pairs behind layers, one pair for each tensor, int32 biases, and
// the same roundings on both roads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "plan/lower_simulated.h"
#include "plan/lower_typed.h"
#include "plan/round_node.h"
#include "plan/simulate_typed.h"
#include "simulated_graph.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

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

constexpr Format kCodes = Format::UInt8;

Plan codes_plan(const std::vector<std::string>& low, std::map<std::string, QuantParams> tensors) {
  Plan plan = plan_of({}, std::move(tensors));
  plan.target = Target::OnnxRuntime;
  for (const std::string& name : low) plan.layers.push_back({name, kCodes});
  return plan;
}

Model codes_net() {
  return parse_model(R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2}, float[1] b = {0.3}, int64[4] s = {1,1,2,2}> {
      [one] a = Conv(x, w, b)
      [act] c = Relu(a)
      [move] d = Reshape(c, s)
      [two] e = Conv(d, w)
      [three] y = Conv(e, w)
    })");
}

Plan net_plan(const std::vector<std::string>& low) {
  return codes_plan(low, {{"x", params_of(kCodes, {0.5F})},
                          {"w", params_of(Format::Int8, {0.25F})},
                          {"c", params_of(kCodes, {2})},
                          {"d", params_of(kCodes, {2})},
                          {"e", params_of(kCodes, {4})},
                          {"y", params_of(kCodes, {8})}});
}

TEST(LowerToCodes, APairFollowsEachLayerAndItsActivation) {
  const TypedModel typed = lower_typed(codes_net(), net_plan({"one", "two", "three"}), /*strict=*/true);
  EXPECT_EQ(inputs_of(typed.model, "act"), Names{"a"}) << "no pair between a layer and its activation";
  EXPECT_EQ(outputs_of(typed.model, "act"), Names{"c_unquantized"});
  EXPECT_EQ(inputs_of(typed.model, "c_quantize")[0], "c_unquantized");
  EXPECT_EQ(outputs_of(typed.model, "c_dequantize"), Names{"c"});
  EXPECT_EQ(inputs_of(typed.model, "move")[0], "c");
  EXPECT_EQ(inputs_of(typed.model, "two")[0], "d");
  EXPECT_EQ(outputs_of(typed.model, "y_dequantize"), Names{"y"}) << "outputs keep their names";
  EXPECT_EQ(names_of(typed.model.proto.graph(), "QuantizeLinear"),
            (Names{"x_quantize", "c_quantize", "d_quantize", "e_quantize", "y_quantize"}));
}

TEST(LowerToCodes, ABiasIsStoredAsMultiplesOfTheStepsOfItsProducts) {
  const TypedModel typed = lower_typed(codes_net(), net_plan({"one"}), /*strict=*/true);
  EXPECT_EQ(inputs_of(typed.model, "b_dequantize"), (Names{"b_quantized", "b_scale"}));
  EXPECT_EQ(initializer(typed.model, "b_quantized")->dtype(), Dtype::Int32);
  EXPECT_EQ(values_of(typed.model, "b_scale"), std::vector<float>{0.125F});
  EXPECT_FALSE(is_initializer(typed.model, "b"));
  const Model low = simulated(codes_net(), net_plan({"one"}));
  EXPECT_EQ(values_of(low, inputs_of(low, "one")[2]), std::vector<float>{0.25F}) << "0.3 is two steps of 0.125";
}

TEST(LowerToCodes, AKeptLayerReadsDequantizedValuesAndItsLowReaderQuantizesThem) {
  const TypedModel typed = lower_typed(codes_net(), net_plan({"one", "three"}), /*strict=*/true);
  EXPECT_EQ(outputs_of(typed.model, "two"), Names{"e"});
  EXPECT_EQ(inputs_of(typed.model, "e_quantize")[0], "e");
  EXPECT_EQ(inputs_of(typed.model, "three")[0], "e_DequantizeLinear_Output");
  EXPECT_EQ(inputs_of(typed.model, "two")[1], "w") << "in float";
}

TEST(LowerToCodes, AKeptLayerBetweenCodesIsShieldedFromTheEnginesOwnQuantization) {
  const TypedModel typed = lower_typed(codes_net(), net_plan({"one", "three"}), /*strict=*/true);
  EXPECT_EQ(inputs_of(typed.model, "two_stays_float"), Names{"d"});
  EXPECT_EQ(node_named(typed.model, "two_stays_float").op_type(), "Sum");
  EXPECT_EQ(inputs_of(typed.model, "two")[0], outputs_of(typed.model, "two_stays_float")[0]);
  ASSERT_EQ(typed.notes.size(), 1U);
  EXPECT_EQ(typed.notes[0], (Note{"float-layers-shielded", {{"count", 1}}}));
  EXPECT_TRUE(lower_typed(codes_net(), net_plan({"one", "two", "three"}), true).notes.empty());
}

TEST(LowerToCodes, ResultsAreRoundedOnceAndMovedWithoutAnotherRounding) {
  const Model low = simulated(codes_net(), net_plan({"one", "two", "three"}));
  EXPECT_EQ(round_behind(low, outputs_of(low, "act")[0]).output(0), "c");
  EXPECT_EQ(inputs_of(low, "two")[0], "d") << "still on the grid of c";
  EXPECT_EQ(names_of(low.proto.graph(), "Round").size(), 4U);  // x, c, e, y
}

TEST(LowerToCodes, ALayerWhoseResultHasNoRangeStaysFloatOrIsAnError) {
  Plan plan = net_plan({"three"});
  plan.tensors.erase("y");
  const TypedModel typed = lower_typed(codes_net(), plan, /*strict=*/false);
  EXPECT_TRUE(names_of(typed.model.proto.graph(), "QuantizeLinear").empty());
  ASSERT_EQ(typed.notes.size(), 1U);
  EXPECT_EQ(typed.notes[0], (Note{"layer-not-lowered",
                                  {{"layer", "three"},
                                   {"operator", "Conv"},
                                   {"format", "uint8"},
                                   {"reason", "the plan has no range for its result"}}}));
  EXPECT_THROW(lower_typed(codes_net(), plan, /*strict=*/true), Error);
  EXPECT_THROW(simulated(codes_net(), plan), Error);
}

/// Grids that tensors pass, with their scale.
std::multiset<std::pair<std::string, float>> scales_in(const Model& model) {
  std::multiset<std::pair<std::string, float>> grids;
  for (const onnx::NodeProto& node : model.proto.graph().node()) {
    if (node.op_type() != "Round") continue;
    const QuantParams params = round_params(node);
    grids.emplace(std::string(format_name(params.format)), params.scale.at(0));
  }
  return grids;
}

TEST(LowerToCodes, BothRoadsRoundToTheSameGridsWhateverIsKept) {
  const Names layers{"one", "two", "three"};
  for (unsigned kept = 0; kept < 8; ++kept) {
    Names low;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if ((kept >> i & 1U) == 0) low.push_back(layers[i]);
    }
    const TypedModel typed = lower_typed(codes_net(), net_plan(low), /*strict=*/true);
    auto grids = scales_in(simulated(codes_net(), net_plan(low)));
    // The pair of a carrier that moves codes changes no value: the file has it, the plan-driven graph has not.
    if ((kept & 3U) == 0) grids.emplace("uint8", 2.0F);
    EXPECT_EQ(grids, scales_in(simulate_typed(typed.model).model)) << kept;
  }
}

}  // namespace
}  // namespace vernier
