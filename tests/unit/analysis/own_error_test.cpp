#include "analysis/own_error.h"

#include <algorithm>
#include <map>
#include <set>

#include "analysis/channel_stats.h"
#include "analysis/reference.h"
#include "analysis/trials.h"
#include "plan/calibrate.h"
#include "plan/scheme.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// The conv net with one tensor more among its outputs, so that a layer in the middle can be judged.
Model with_output(Model model, const std::string& tensor) {
  onnx::ValueInfoProto* output = model.proto.mutable_graph()->add_output();
  output->set_name(tensor);
  output->mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  return model;
}

const std::vector<std::string>& outputs_of(const Subject& subject, const std::string& layer) {
  return std::ranges::find(subject.layers, layer, &Layer::name)->outputs;
}

TEST(OwnError, EqualsTheErrorOfAModelWithOnlyThatLayerLow) {
  const Samples samples = bell_samples("x", kConvNetInput, 5);
  const Model plain = model_of(kConvNet, conv_net_weights());
  const Subject subject = subject_of(plain, samples);
  for (const Format format : {Format::Int8, Format::Float16, Format::BFloat16}) {
    const Plan plan = plan_all(subject, format);
    RoundedWeights weights;
    const std::vector<LayerError> errors = own_error(subject, plan, weights);
    std::size_t low_layers = 0;
    for (const PlannedLayer& layer : plan.layers) low_layers += layer.format == format ? 1 : 0;
    ASSERT_EQ(errors.size(), low_layers);
    ASSERT_GE(errors.size(), 4U);
    for (const LayerError& error : errors) {
      EXPECT_EQ(error.format, format);
      const std::string tensor = outputs_of(subject, error.layer).front();
      // By hand: the network with this layer alone low, its output compared with the float network's.
      const Subject judged = subject_of(tensor == "y" ? plain : with_output(plain, tensor), samples);
      RoundedWeights own_weights;
      const Reference reference = run_reference(judged, {});
      const TrialResult alone = run_trial(judged, plan_only(subject, format, {error.layer}), reference, own_weights,
                                          nullptr, all_samples(judged), false);
      EXPECT_EQ(error.error, alone.outputs.at(tensor).pooled) << format_name(format) << " " << error.layer;
      EXPECT_GT(error.error.error_energy, 0) << error.layer;
    }
  }
}

TEST(OwnError, WithIntegerKernelsIsTakenBehindTheActivationAndTheResultsRounding) {
  const Samples samples = bell_samples("x", kConvNetInput, 5);
  const Model plain = model_of(kConvNet, conv_net_weights());
  const Subject subject = subject_of(plain, samples);
  RoundedWeights weights;
  const std::vector<LayerError> errors =
      own_error(subject, plan_all(subject, Format::Int8, Target::OnnxRuntime), weights);
  const std::map<std::string, std::string> results = {
      {"conv1", "r1"}, {"conv2", "r2"}, {"conv3", "r3"}, {"pool", "p"}, {"gemm", "y"}};
  ASSERT_EQ(errors.size(), results.size());
  for (const LayerError& error : errors) {
    const std::string& tensor = results.at(error.layer);
    const Subject judged = subject_of(tensor == "y" ? plain : with_output(plain, tensor), samples);
    const Reference reference = run_reference(judged, {});
    RoundedWeights own_weights;
    const TrialResult alone = run_trial(judged, plan_only(subject, Format::Int8, {error.layer}, Target::OnnxRuntime),
                                        reference, own_weights, nullptr, all_samples(judged), false);
    EXPECT_EQ(error.error, alone.outputs.at(tensor).pooled) << error.layer;
    EXPECT_GT(error.error.error_energy, 0) << error.layer;
  }
}

TEST(OwnError, OfAHandMadeLayerIsTheRoundingOfItsInput) {
  // Weights and output of the product are exact on the grid; only x = 0.3 is not: with the range 1.27 a step is 0.01.
  const Samples samples({{{"x", Tensor::of({1, 2}, std::vector<float>{1.27F, 0.304F})}}});
  const Subject subject = subject_of(model_of("g (float[1,2] x) => (float[1,1] y) { [dense] y = MatMul(x, w) }",
                                              {{"w", Tensor::of({2, 1}, std::vector<float>{0, 127})}}),
                                     samples);
  RoundedWeights weights;
  const std::vector<LayerError> errors = own_error(subject, plan_all(subject, Format::Int8), weights);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].layer, "dense");
  // 127 * (0.30 - 0.304), to the last bits of float32 products near 38.
  EXPECT_NEAR(errors[0].error.error_sum, 127 * -0.004, 4 * 3.8e-6);
  EXPECT_EQ(errors[0].events.count, 2) << "its input; weights are rounded outside the graph";
  EXPECT_EQ(errors[0].events.saturated, 0);
}

TEST(OwnError, CountsEventsOfInputsAndOutputs) {
  // In float16: 1e5 overflows on entry, 300 * 300 on the way out; 1e-7 is subnormal, 1e-9 flushed.
  const Samples samples({{{"x", Tensor::of({1, 4}, std::vector<float>{1e5F, 300, 1e-7F, 1e-9F})}}});
  const Subject subject =
      subject_of(model_of("g (float[1,4] x) => (float[1,4] y) { [square] y = Mul(x, x) }"), samples);
  RoundedWeights weights;
  const std::vector<LayerError> errors = own_error(subject, plan_all(subject, Format::Float16), weights);
  ASSERT_EQ(errors.size(), 1U);
  const RoundEvents& events = errors[0].events;
  EXPECT_EQ(events.count, 12) << "both inputs and the output";
  EXPECT_EQ(events.overflowed, 2 + 1) << "1e5 on both inputs (its square is infinite already), 90000 behind";
  EXPECT_EQ(events.subnormal, 2);
  EXPECT_EQ(events.flushed, 2 + 1) << "1e-9 twice, and 1e-14 behind";
  EXPECT_EQ(errors[0].error.got_inf, 2);
}

TEST(OwnError, CountsEventsOfConstantsInHalfPrecision) {
  // A mask of -1e9 becomes -infinity in float16, and 1e-12 disappears.
  const Samples samples({{{"x", Tensor::of({1, 2}, std::vector<float>{1, 2})}}});
  const NamedTensors weights{{"c", Tensor::of({2}, std::vector<float>{-1e9F, 1e-12F})}};
  const Subject subject =
      subject_of(model_of("g (float[1,2] x) => (float[1,2] y) { [add] y = Add(x, c) }", weights), samples);
  RoundedWeights rounded;
  const std::vector<LayerError> errors = own_error(subject, plan_all(subject, Format::Float16), rounded);
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_EQ(errors[0].events.count, 2 + 2 + 2) << "input, output, and the constants once";
  EXPECT_EQ(errors[0].events.overflowed, 1) << "the mask; behind it infinity is no news";
  EXPECT_EQ(errors[0].events.flushed, 1);
}

TEST(OwnError, IgnoresWhatHappensUpstream) {
  // An infinity made low by the first layer never reaches the second one's figure.
  NamedTensors weights{{"w", Tensor::of({2, 2}, std::vector<float>{70000, 0, 0, 1})}, {"v", bell({2, 2}, 5)}};
  const Samples samples({{{"x", Tensor::of({1, 2}, std::vector<float>{0.001F, 2})}}});
  const Subject subject = subject_of(
      model_of("g (float[1,2] x) => (float[1,2] y) { [first] a = MatMul(x, w) [second] y = MatMul(a, v) }", weights),
      samples);
  RoundedWeights rounded;
  const std::vector<LayerError> errors = own_error(subject, plan_all(subject, Format::Float16), rounded);
  ASSERT_EQ(errors.size(), 2U);
  EXPECT_FALSE(errors[0].error.finite());
  EXPECT_TRUE(errors[1].error.finite());
}

TEST(OwnError, DoesNotDependOnThreads) {
  const Samples samples = bell_samples("x", kConvNetInput, 9, 1.2F);
  Subject subject = subject_of(model_of(kConvNet, conv_net_weights()), samples);
  const Plan plan = plan_all(subject, Format::Int8);
  RoundedWeights weights;
  const std::vector<LayerError> one = own_error(subject, plan, weights);
  subject.threads = 4;
  const std::vector<LayerError> four = own_error(subject, plan, weights);
  ASSERT_EQ(one.size(), four.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].layer, four[i].layer);
    EXPECT_EQ(one[i].error, four[i].error);
    EXPECT_EQ(one[i].events, four[i].events);
  }
}

TEST(OwnError, HasNoEntryForLayersInsideBodies) {
  const Samples samples = bell_samples("x", {4, 20}, 3);
  const Subject subject = subject_of(if_net(), samples);
  RoundedWeights weights;
  std::set<std::string> names;
  for (const LayerError& error : own_error(subject, plan_all(subject, Format::Float16), weights))
    names.insert(error.layer);
  EXPECT_EQ(names, (std::set<std::string>{"dense", "last"}));
}

}  // namespace
}  // namespace vernier::testing
