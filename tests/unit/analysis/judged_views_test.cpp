// Outputs that are no float32, judged by what stands behind them.
#include "analysis/judged_views.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "tiny_networks.h"
#include "vernier/error.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::bell;
using testing::model_of;

std::vector<Tensor> run(const Model& model, const Sample& sample) {
  return evaluate_exactly(Runtime::load(), model, sample);
}

const Sample kSample{{"x", bell({1, 5, 3, 4}, 7)}};

TEST(JudgedViews, LabelsAreJudgedByTheirScores) {
  const std::string graph =
      "g (float[1,5,3,4] x) => (int32[1,12] y)"
      "<int64[2] s = {1, 12}> { r = Relu (x) a = ArgMax <axis = 1> (r) f = Reshape (a, s) y = Cast <to = 6> (f) }";
  Model model = model_of(graph);
  const Tensor labels = run(model, kSample).front();
  const std::vector<JudgedView> views = judge_as_floats(model);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_EQ(views[0].scores, "r");
  EXPECT_EQ(note_of(views[0]), (Note{"output-measured-by-scores", {{"output", "y"}, {"scores", "r"}, {"axis", 1}}}));
  const Tensor scores = run(model, kSample).front();
  EXPECT_EQ(scores.dtype(), Dtype::Float32);
  EXPECT_EQ(scores.shape(), (Shape{1, 5, 3, 4}));
  EXPECT_EQ(model_outputs(model).front().name, "y");
  EXPECT_EQ(class_axes(model, {"y"}).at("y").axis, 1);

  const Tensor again = as_given(views[0], scores);
  ASSERT_EQ(again.shape(), (Shape{1, 12}));
  ASSERT_EQ(labels.dtype(), Dtype::Int32);
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(reinterpret_cast<const std::int64_t*>(again.bytes().data())[i],
              reinterpret_cast<const std::int32_t*>(labels.bytes().data())[i]);
  }

  give_back_outputs(model, views);
  EXPECT_EQ(model.proto.SerializeAsString(), model_of(graph).proto.SerializeAsString());
}

TEST(JudgedViews, LabelsOfScoresThatAreJudgedAnywayAreLeft) {
  Model model = model_of(
      "g (float[1,5,3,4] x) => (float[1,5,3,4] r, int64[1,3,4] y)"
      "{ r = Relu (x) y = ArgMax <axis = 1, keepdims = 0> (r) }");
  EXPECT_TRUE(judge_as_floats(model).empty());
}

TEST(JudgedViews, HalvesAreJudgedAsTheyAre) {
  const std::string graph = "g (float[1,5,3,4] x) => (float16[1,5,3,4] y) { r = Relu (x) y = Cast <to = 10> (r) }";
  Model model = model_of(graph);
  const std::vector<JudgedView> views = judge_as_floats(model);
  ASSERT_EQ(views.size(), 1U);
  EXPECT_FALSE(note_of(views[0]));
  const Tensor value = run(model, kSample).front();
  EXPECT_EQ(value.dtype(), Dtype::Float32);
  give_back_outputs(model, views);
  EXPECT_EQ(model.proto.SerializeAsString(), model_of(graph).proto.SerializeAsString());
}

TEST(JudgedViews, CodesAreJudgedByWhatTheyStandFor) {
  const std::string graph =
      "g (float[1,5,3,4] x) => (uint8[1,5,3,4] y)"
      "<float s = {0.25}, uint8 z = {3}> { r = Relu (x) y = QuantizeLinear (r, s, z) }";
  Model model = model_of(graph);
  const std::vector<JudgedView> views = judge_as_floats(model);
  ASSERT_EQ(views.size(), 1U);
  const Tensor value = run(model, kSample).front();
  EXPECT_EQ(value.dtype(), Dtype::Float32);
  for (const float v : value.floats()) EXPECT_EQ(v, std::round(v * 4) / 4);
  give_back_outputs(model, views);
  EXPECT_EQ(model.proto.SerializeAsString(), model_of(graph).proto.SerializeAsString());
}

TEST(JudgedViews, WhatNothingFloatStandsBehindIsLeftAndSaid) {
  Model model = model_of("g (float[1,5,3,4] x) => (int64[4,n] y) { y = NonZero (x) }");
  EXPECT_TRUE(judge_as_floats(model).empty());
  EXPECT_EQ(not_judged_text(model, model_outputs(model).front()), "int64 of NonZero");
}

TEST(JudgedViews, AnotherFileOfTheNetworkIsJudgedAlike) {
  const std::string float_graph =
      "g (float[1,5,3,4] x) => (int64[1,3,4] y) { r = Relu (x) y = ArgMax <axis = 1, keepdims = 0> (r) }";
  Model reference = model_of(float_graph);
  const std::vector<JudgedView> views = judge_as_floats(reference);
  Model typed = model_of(
      "g (float[1,5,3,4] x) => (int64[1,3,4] y)"
      "{ h = Cast <to = 10> (x) q = Relu (h) y = ArgMax <axis = 1, keepdims = 0> (q) }");
  judge_alike(typed, views);
  EXPECT_EQ(run(typed, kSample).front().dtype(), Dtype::Float32);
  Model other = model_of("g (float[1,5,3,4] x) => (int64[4,n] y) { y = NonZero (x) }");
  EXPECT_THROW(judge_alike(other, views), Error);
}

}  // namespace
}  // namespace vernier
