// Weights of which no rounded copies are kept: every measurement says what it says with such copies.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/lockstep.h"
#include "analysis/own_error.h"
#include "analysis/reference.h"
#include "analysis/sensitivity.h"
#include "analysis/trials.h"
#include "plan/lower_simulated.h"
#include "plan/lower_typed.h"
#include "plan/simulate_typed.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// Two products whose weights live beside the message, on a sum that leads around them.
Model residual_net() {
  return model_of(R"(
    residual (float[1,4,32] x) => (float[1,4,32] y) {
      [up] u = MatMul (x, a)
      [relu] r = Relu (u)
      [down] d = MatMul (r, b)
      [sum] y = Add (x, d)
    })",
                  {{"a", bell({32, 64}, 1, 0.2F)}, {"b", bell({64, 32}, 2, 0.1F)}}, 21);
}

/// A product with a constant adds up in another order than one with what the graph makes.
void expect_near(const ErrorStats& kept, const ErrorStats& rounded, const std::string& what) {
  EXPECT_NEAR(log_noise(kept), log_noise(rounded), 1e-3) << what;
  EXPECT_GT(kept.error_energy, 0) << what;
}

class LargeWeights : public ::testing::TestWithParam<Format> {};

TEST_P(LargeWeights, AreMeasuredAsIfRoundedAhead) {
  const Samples samples = bell_samples("x", {1, 4, 32}, 3);
  const Subject subject = subject_of(residual_net(), samples);
  const Plan plan = plan_all(subject, GetParam());
  RoundedWeights ahead;
  RoundedWeights in_the_graph(/*exact=*/false, /*most_kept=*/0);

  const std::vector<LayerError> kept = own_error(subject, plan, ahead);
  const std::vector<LayerError> rounded = own_error(subject, plan, in_the_graph);
  ASSERT_EQ(kept.size(), rounded.size());
  std::vector<std::string> names;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    expect_near(kept[i].error, rounded[i].error, "own error of " + kept[i].layer);
    EXPECT_EQ(kept[i].events, rounded[i].events) << kept[i].layer;
    names.push_back(kept[i].layer);
  }
  ASSERT_GE(names.size(), 2U);

  const std::vector<Match> matches = match_layer_outputs(subject);
  const Model low = lower_simulated(subject.model, subject.layers, plan, in_the_graph);
  const Model usual = lower_simulated(subject.model, subject.layers, plan, ahead);
  EXPECT_EQ(bytes_beside(low), bytes_beside(subject.model));
  EXPECT_GT(bytes_beside(usual), bytes_beside(subject.model));
  expect_near(lockstep(subject, usual, matches).outputs.at("y").pooled,
              lockstep(subject, low, matches).outputs.at("y").pooled, "lock-step");

  const Reference reference = run_reference(subject, tensors_to_observe(subject));
  const auto alone = [&](RoundedWeights& weights) {
    std::map<std::string, ErrorStats> found;
    for (const LayerSensitivity& layer :
         measure_sensitivities(subject, plan, names, reference.outputs, reference.shapes, weights, {{0, 2}, 2}).layers)
      found[layer.layer] = layer.outputs.at("y").pooled;
    return found;
  };
  const std::map<std::string, ErrorStats> sensitivities = alone(in_the_graph);
  for (const auto& [layer, error] : alone(ahead))
    expect_near(error, sensitivities.at(layer), "sensitivity of " + layer);
}

TEST_P(LargeWeights, OfATypedFileMayStayCodes) {
  const Samples samples = bell_samples("x", {1, 4, 32}, 3);
  const Subject subject = subject_of(residual_net(), samples);
  const TypedModel typed = lower_typed(subject.model, plan_all(subject, GetParam()), /*strict=*/true);
  const SimulatedFile usual = simulate_typed(typed.model);
  const SimulatedFile in_runs = simulate_typed(typed.model, {}, /*most_decoded=*/0);
  const bool codes = needs_scale(GetParam());
  EXPECT_EQ(is_initializer(in_runs.model, "a_DequantizeLinear_Output"), false);
  EXPECT_EQ(is_initializer(usual.model, "a_DequantizeLinear_Output"), codes);
  EXPECT_EQ(in_runs.quantized.size(), usual.quantized.size());
  EXPECT_EQ(in_runs.layers, usual.layers);
  std::set<std::string> made;  // sessions of many nodes are cut between them, in the order of the graph
  for (const onnx::NodeProto& node : in_runs.model.proto.graph().node()) {
    for (const std::string& input : node.input()) {
      EXPECT_TRUE(made.contains(input) || input == "x" || is_initializer(in_runs.model, input)) << input;
    }
    made.insert(node.output().begin(), node.output().end());
  }
  const std::vector<Match> matches = match_layer_outputs(subject);
  expect_near(lockstep(subject, usual.model, matches).outputs.at("y").pooled,
              lockstep(subject, in_runs.model, matches).outputs.at("y").pooled, "lock-step");
}

TEST(LargeWeights, AreKeptOnceFrom64MiBOn) {
  for (const std::int64_t rows : {3500, 4500}) {
    const Model model = model_of(fmt::format("g (float[1,{0}] x) => (float[1,4096] y) {{ y = MatMul (x, a) }}", rows),
                                 {{"a", Tensor(Dtype::Float32, {rows, 4096})}}, 21);
    const Samples samples = bell_samples("x", {1, rows}, 1);
    const Subject subject = subject_of(model, samples);
    const bool once = bytes_beside(model) > std::size_t{64} << 20U;
    EXPECT_EQ(once, rows == 4500);
    EXPECT_EQ(small_enough_to_optimize(model), !once) << "an optimized session copies the weights and packs them";
    RoundedWeights weights;
    const Model low = lower_simulated(subject.model, subject.layers, plan_all(subject, Format::Float16), weights);
    EXPECT_EQ(bytes_beside(low) == bytes_beside(model), once) << "they are rounded in the graph, not ahead";
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, LargeWeights,
                         ::testing::Values(Format::Int8, Format::Int4, Format::Float16, Format::Float8E4M3FN),
                         [](const auto& format) { return std::string(format_name(format.param)); });

}  // namespace
}  // namespace vernier::testing
