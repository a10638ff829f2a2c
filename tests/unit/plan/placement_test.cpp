// Where tensors are quantized under a target with integer kernels.
#include "plan/placement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>

#include "tiny_graph.h"
#include "vernier/format.h"

namespace vernier {
namespace {

using testing::node_named;
using testing::parse_model;
using testing::plan_of;

using Set = std::set<std::string>;

/// A model with some layers in uint8, and where that puts Q/DQ pairs in its main graph.
struct Placed {
  Placed(const std::string& graph, const std::vector<std::string>& low, Target target = Target::OnnxRuntime,
         std::vector<PlannedLayer> others = {})
      : model(parse_model(graph)), layers(find_layers(model)), plan(plan_of(std::move(others))) {
    for (const std::string& name : low) plan.layers.push_back({name, Format::UInt8});
    plan.target = target;
    for (const Layer& layer : layers) by_name[layer.name] = &layer;
    placement.emplace(model, model.proto.graph(), by_name, plan, runs_on_codes(by_name, plan));
  }
  const Placement* operator->() const { return &*placement; }

  Model model;
  std::vector<Layer> layers;
  Plan plan;
  std::map<std::string, const Layer*> by_name;
  std::optional<Placement> placement;
};

const char* const kConvReluConv = R"(
  g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> {
    [one] a = Conv(x, w)
    [act] b = Relu(a)
    [two] y = Conv(b, w)
  })";

TEST(Placement, AResultIsQuantizedBehindTheActivationThatBelongsToIt) {
  const Placed placed(kConvReluConv, {"one", "two"});
  EXPECT_EQ(placed->quantized(), (Set{"b", "y"}));
  EXPECT_TRUE(placed->passes_codes("act"));
  EXPECT_FALSE(placed->passes_codes("one"));
}

TEST(Placement, AKeptLayersResultIsNotQuantizedWhereItIsMade) {
  EXPECT_EQ(Placed(kConvReluConv, {"two"})->quantized(), Set{"y"});
  EXPECT_EQ(Placed(kConvReluConv, {"one"})->quantized(), Set{"b"});
}

TEST(Placement, TheTensorrtTargetQuantizesNoResults) {
  EXPECT_TRUE(Placed(kConvReluConv, {"one", "two"}, Target::TensorRt)->quantized().empty());
}

TEST(Placement, AnActivationBelongsToNothingWhenItsInputIsReadTwiceOrReturned) {
  const Placed twice(R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] z) <float[1,1,1,1] w = {1}> {
      [one] a = Conv(x, w)
      [act] y = Relu(a)
      [other] z = Neg(a)
    })",
                     {"one"});
  EXPECT_EQ(twice->quantized(), Set{"a"});
  const Placed returned(R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y, float[1,1,2,2] a) <float[1,1,1,1] w = {1}> {
      [one] a = Conv(x, w)
      [act] y = Relu(a)
    })",
                        {"one"});
  EXPECT_EQ(returned->quantized(), Set{"a"});
}

TEST(Placement, AnActivationInAFormatOfItsOwnStaysALayer) {
  const Placed placed(kConvReluConv, {"one"}, Target::OnnxRuntime, {{"act", Format::Float16}});
  EXPECT_EQ(placed->quantized(), Set{"a"});
  EXPECT_FALSE(placed->passes_codes("act"));
}

TEST(Placement, AClipWithComputedBoundsIsNoPartOfALayer) {
  const Placed placed(R"(
    g (float[1,1,2,2] x, float m) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> {
      [one] a = Conv(x, w)
      [act] y = Clip(a, m)
    })",
                      {"one"});
  EXPECT_EQ(placed->quantized(), Set{"a"});
}

TEST(Placement, ProductsThatNoLowLayerReadsStayFloat) {
  const std::string graph = R"(
    g (float[1,2] x) => (float[1,2] y) <float[2,2] w = {1, 1, 1, 1}, int64[2] s = {1, 2}> {
      [one] a = MatMul(x, w)
      [move] b = Reshape(a, s)
      [two] y = MatMul(b, w)
    })";
  EXPECT_EQ(Placed(graph, {"one", "two"})->quantized(), (Set{"a", "b"}));
  EXPECT_TRUE(Placed(graph, {"one"})->quantized().empty());
}

TEST(Placement, CarriersMoveCodesOnlyBetweenLowLayers) {
  const std::string graph = R"(
    g (float[1,1,4,4] x) => (float[1,1,2,2] y) {
      [one] a = LeakyRelu(x)
      [pool] b = MaxPool <kernel_shape = [2,2], strides = [2,2]> (a)
      [two] y = LeakyRelu(b)
    })";
  const Placed all(graph, {"one", "two"});
  EXPECT_EQ(all->quantized(), (Set{"a", "b", "y"}));
  ASSERT_EQ(all->carriers().size(), 1U);
  EXPECT_EQ(all->carriers()[0]->name(), "pool");
  EXPECT_EQ(Placed(graph, {"one"})->quantized(), Set{"a"}) << "nobody reads the pool's codes";
  EXPECT_EQ(Placed(graph, {"two"})->quantized(), Set{"y"}) << "the pool is given float";
}

TEST(Placement, ConcatMovesCodesWhenAllItsInputsAreQuantized) {
  const std::string graph = R"(
    g (float[1,2] x) => (float[1,4] y) {
      [one] a = LeakyRelu(x)
      [two] b = LeakyRelu(x)
      [join] c = Concat <axis = 1> (a, b)
      [use] y = LeakyRelu(c)
    })";
  EXPECT_TRUE(Placed(graph, {"one", "two", "use"})->quantized("c"));
  EXPECT_FALSE(Placed(graph, {"one", "use"})->quantized("c"));
}

TEST(Placement, NearestResizeIsACarrierAndLinearResizeIsNot) {
  const auto resized = [](const std::string& mode) {
    return "g (float[1,1,2,2] x) => (float[1,1,4,4] y) <float[4] s = {1, 1, 2, 2}> { [one] a = LeakyRelu(x) "
           "[size] b = Resize <mode = \"" +
           mode + "\"> (a, , s) [two] y = LeakyRelu(b) }";
  };
  EXPECT_TRUE(Placed(resized("nearest"), {"one", "two"})->quantized("b"));
  EXPECT_FALSE(Placed(resized("linear"), {"one", "two"})->quantized("b"));
}

TEST(Placement, TellsWhichKeptLayersAnEngineWouldQuantizeByItself) {
  const std::string graph = R"(
    g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}, int64[4] s = {1, 1, 2, 2}> {
      [before] a = Conv(x, w)
      [move] b = Reshape(a, s)
      [kept] c = Conv(b, w)
      [act] d = Relu(c)
      [after] y = Conv(d, w)
    })";
  const Placed between(graph, {"before", "after"});
  EXPECT_TRUE(between->would_requantize(node_named(between.model, "kept")));
  const Placed no_codes_in(graph, {"after"});
  EXPECT_FALSE(no_codes_in->would_requantize(node_named(no_codes_in.model, "kept")));
  const Placed no_codes_out(graph, {"before"});
  EXPECT_FALSE(no_codes_out->would_requantize(node_named(no_codes_out.model, "kept")));
  const Placed elsewhere(graph, {"before", "after"}, Target::TensorRt);
  EXPECT_FALSE(elsewhere->would_requantize(node_named(elsewhere.model, "kept")));
}

}  // namespace
}  // namespace vernier
