// Layers in several formats with a scale: their grids, and how graphs mix them.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "plan/calibrate.h"
#include "plan/lower_typed.h"
#include "plan/scheme.h"
#include "plan/simulate_typed.h"
#include "simulated_graph.h"
#include "tiny_graph.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/precision.h"

namespace vernier {
namespace {

using testing::parse_model;

/// Two products of one tensor.
constexpr const char* kFork = R"(
  g (float[1,2] x) => (float[1,2] y, float[1,2] z) <float[2,2] w1 = {1, -2, 3, 4}, float[2,2] w2 = {5, 6, -7, 8}> {
    [left] y = MatMul(x, w1)
    [right] z = MatMul(x, w2)
  })";

PrecisionOptions ladder(std::vector<Format> low, Format high, Target target) {
  PrecisionOptions options;
  options.low = std::move(low);
  options.high = high;
  options.target = target;
  options.ladder = true;
  return options;
}

Plan calibrated(const Model& model, const PrecisionOptions& options) {
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = assign_formats(model, layers, options).plan;
  RangeStats range;
  accumulate_range(std::vector<float>{-1, 3}, range);
  calibrate_plan(plan, model, layers, {{"x", range}});
  return plan;
}

TEST(Ladder, EachLayerStartsOnItsLowestRung) {
  const Model model = parse_model(testing::kTwoProducts, 21);
  const PrecisionOptions options = ladder({Format::Int8, Format::Int16}, Format::Float16, Target::OpenVino);
  const AssignedFormats assigned = assign_formats(model, find_layers(model), options);
  EXPECT_EQ(assigned.plan.format_of("fc1"), Format::UInt8);
  EXPECT_EQ(assigned.plan.format_of("act"), Format::Float16);
  EXPECT_EQ(assigned.plan.rungs.at("fc1"), std::vector{Format::UInt16});
  EXPECT_FALSE(assigned.plan.rungs.contains("act"));
}

TEST(Ladder, ARungThatNoLayerTakesIsAnError) {
  const Model model = parse_model(testing::kTwoProducts, 21);
  const PrecisionOptions options = ladder({Format::Int8, Format::Int16}, Format::Float16, Target::TensorRt);
  try {
    assign_formats(model, find_layers(model), options);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_NE(std::string(error.what()).find("TensorRT has no integers of 16 bits"), std::string::npos) << error.what();
  }
}

TEST(Ladder, AKvCacheTakesTheRungsAboveItsOwnFormat) {
  const Model model = parse_model("g (float[1,2] x) => (float[1,2] y) { [cache] y = Sum(x) }", 21);
  std::vector<Layer> layers = find_layers(model);
  layers.front().cache = true;
  PrecisionOptions options = ladder({Format::Float16}, Format::Float32, Target::OpenVino);
  options.rules.kv_cache = Format::Int8;
  AssignedFormats assigned = assign_formats(model, layers, options);
  EXPECT_EQ(assigned.plan.format_of("cache"), Format::Int8) << "of its own, which the ladder does not list";
  EXPECT_EQ(assigned.plan.rungs.at("cache"), std::vector{Format::Float16});
  options.rules.kv_cache = Format::Float16;
  assigned = assign_formats(model, layers, options);
  EXPECT_EQ(assigned.plan.format_of("cache"), Format::Float16);
  EXPECT_TRUE(assigned.plan.rungs.empty());
}

TEST(Ladder, ATensorHasAGridForEachRungThatReadsIt) {
  const Model model = parse_model(kFork, 21);
  const Plan plan = calibrated(model, ladder({Format::Int8, Format::Int16}, Format::Float16, Target::OpenVino));
  EXPECT_EQ(plan.grid("x", Format::UInt8)->format, Format::UInt8);
  EXPECT_EQ(plan.grid("x", Format::UInt16)->format, Format::UInt16);
  EXPECT_LT(plan.grid("x", Format::UInt16)->scale.front(), plan.grid("x", Format::UInt8)->scale.front() / 200);
  // Both store the weight in int8: it has one grid.
  EXPECT_EQ(*plan.grid("w1", Format::UInt16), *plan.grid("w1", Format::UInt8));
  EXPECT_FALSE(plan.other_grids.contains("w1"));
}

TEST(Ladder, TheFileOfAPlanKeepsTheGrids) {
  const Model model = parse_model(kFork, 21);
  Plan plan = calibrated(model, ladder({Format::Int8, Format::Int16}, Format::Float16, Target::OpenVino));
  const Plan read = plan_from_json(plan_to_json(plan), "plan.json");
  plan.rungs.clear();  // not in the file
  EXPECT_EQ(read, plan);
}

TEST(Ladder, GraphsMixRungsOfOneTensor) {
  const Model model = parse_model(kFork, 21);
  Plan plan = calibrated(model, ladder({Format::Int8, Format::Int16}, Format::Float16, Target::OpenVino));
  plan.layers.back().format = Format::UInt16;
  const Model simulated = testing::simulated(model, plan);
  std::vector<std::string> read;
  for (const onnx::NodeProto& node : simulated.proto.graph().node()) {
    if (node.op_type() == "MatMul") read.push_back(node.input(0));
  }
  EXPECT_EQ(read, (std::vector<std::string>{"x/uint8", "x/uint16"}));

  const TypedModel typed = lower_typed(model, plan, /*strict=*/true);
  std::vector<Dtype> codes;
  for (const onnx::NodeProto& node : typed.model.proto.graph().node()) {
    if (node.op_type() == "QuantizeLinear") codes.push_back(initializer(typed.model, node.input(2))->dtype());
  }
  EXPECT_EQ(codes, (std::vector{Dtype::UInt8, Dtype::UInt16}));
  EXPECT_EQ(typed.quantize_pairs, 4);
}

}  // namespace
}  // namespace vernier
