#include "analysis/layer_probe.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analysis/channel_stats.h"
#include "analysis/own_error.h"
#include "analysis/reference.h"
#include "plan/calibrate.h"
#include "plan/scheme.h"
#include "tiny_networks.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

class Probe : public ::testing::Test {
 protected:
  Samples samples_ = bell_samples("x", kConvNetInput, 5);
  Subject subject_ = subject_of(model_of(kConvNet, conv_net_weights()), samples_);
  Plan plan_ = plan_all(subject_, Format::Int8);
  RoundedWeights weights_;
  std::map<std::string, Shape> shapes_ = run_reference(subject_, tensors_to_observe(subject_)).shapes;

  std::string weighted_layer() const {
    return std::ranges::find_if(subject_.layers, [](const Layer& layer) { return layer.weighted; })->name;
  }
};

TEST_F(Probe, OfOneLayerGivesWhatAllTogetherGive) {
  const std::string layer = weighted_layer();
  Probes probes;
  probes.layers[layer] = {};
  probe(subject_, plan_, weights_, {}, shapes_, probes);
  ASSERT_EQ(probes.layers.size(), 1U);
  const LayerProbe& seen = probes.layers.at(layer);
  const std::vector<LayerError> all = own_error(subject_, plan_, weights_);
  EXPECT_EQ(seen.own, std::ranges::find(all, layer, &LayerError::layer)->error);
  const auto means = mean_errors(subject_, plan_, weights_, shapes_, all_samples(subject_));
  ASSERT_GT(means.size(), 1U);
  EXPECT_EQ(seen.mean_error, means.at(layer).mean);
  EXPECT_GT(seen.own_with_exact_weights.error_energy, 0);
  EXPECT_NE(seen.own_with_exact_weights.error_energy, seen.own.error_energy);
}

TEST_F(Probe, MeanErrorsKnowHowSureTheyAre) {
  const auto of = [&](const std::vector<std::size_t>& samples) {
    return mean_errors(subject_, plan_, weights_, shapes_, samples).begin()->second;
  };
  const ChannelMeans all = of(all_samples(subject_));
  std::vector<double> squares(all.mean.size());
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const ChannelMeans one = of({s});
    EXPECT_TRUE(one.variance.empty()) << "one sample does not tell";
    for (std::size_t c = 0; c < squares.size(); ++c) squares[c] += std::pow(one.mean[c] - all.mean[c], 2);
  }
  const auto n = static_cast<double>(samples_.size());
  for (std::size_t c = 0; c < squares.size(); ++c) {
    EXPECT_NEAR(all.variance[c], squares[c] / (n * (n - 1)), 1e-6 * all.variance[c]) << c;
  }
}

TEST_F(Probe, SeesTheLargestMagnitudesOfAnInputByChannelAndBySample) {
  Probes probes;
  probes.tensors = {{"x", {}}, {"no such tensor", {}}};
  probe(subject_, plan_, weights_, {}, shapes_, probes);
  EXPECT_TRUE(probes.tensors.at("no such tensor").samples.empty());
  const Magnitudes& seen = probes.tensors.at("x");
  ASSERT_EQ(seen.samples.size(), samples_.size());
  const auto channels = static_cast<std::size_t>(kConvNetInput[1]);
  ASSERT_EQ(seen.channels.size(), channels);
  std::vector<float> by_channel(channels);
  for (std::size_t s = 0; s < samples_.size(); ++s) {
    const Tensor x = samples_.at(s).at("x");
    const std::size_t inner = x.floats().size() / channels / static_cast<std::size_t>(kConvNetInput[0]);
    float most = 0;
    for (std::size_t i = 0; i < x.floats().size(); ++i) {
      const float size = std::abs(x.floats()[i]);
      most = std::max(most, size);
      by_channel[i / inner % channels] = std::max(by_channel[i / inner % channels], size);
    }
    EXPECT_EQ(seen.samples[s], most);
  }
  EXPECT_EQ(seen.channels, by_channel);
}

TEST(ProbeInMixedFormats, GivesMeanErrorsBesideOwnErrors) {
  // int4 takes the weights of the product alone, whose result float16 then rounds.
  const Samples samples = bell_samples("x", {1, 32}, 5);
  const Subject subject =
      subject_of(model_of("g (float[1,32] x) => (float[1,3] y) { [product] a = MatMul(x, w) [relu] y = Relu(a) }",
                          {{"w", bell({32, 3}, 5)}}),
                 samples);
  PrecisionOptions precision;
  precision.even_if_slower = true;
  precision.low = {Format::Int4};
  precision.high = Format::Float16;
  Plan plan = assign_formats(subject.model, subject.layers, precision).plan;
  calibrate_plan(plan, subject.model, subject.layers, {});
  const std::map<std::string, Shape> shapes = run_reference(subject, {"a"}).shapes;
  RoundedWeights weights;
  Probes probes;
  probes.layers = {{"product", {}}, {"relu", {}}};
  probe(subject, plan, weights, {"a"}, shapes, probes);
  for (const LayerError& error : own_error(subject, plan, weights)) {
    EXPECT_EQ(probes.layers.at(error.layer).own, error.error) << error.layer;
  }
  EXPECT_EQ(probes.layers.at("product").mean_error,
            mean_errors(subject, plan, weights, shapes, all_samples(subject)).at("product").mean);
}

TEST_F(Probe, LeavesTheReferenceRunAsItIs) {
  const std::set<std::string> observed = tensors_to_observe(subject_);
  Probes probes;
  for (const Layer& layer : subject_.layers) probes.layers[layer.name] = {};
  for (const std::string& tensor : observed) probes.tensors[tensor] = {};
  const Reference beside = probe(subject_, plan_, weights_, observed, shapes_, probes);
  const Reference alone = run_reference(subject_, observed, observed);
  EXPECT_EQ(beside.ranges, alone.ranges);
  EXPECT_EQ(beside.shapes, alone.shapes);
  EXPECT_EQ(beside.data_sha256, alone.data_sha256);
  ASSERT_EQ(beside.histograms.size(), alone.histograms.size());
  for (const auto& [tensor, halves] : alone.histograms) {
    for (const std::size_t half : {0, 1}) {
      EXPECT_EQ(beside.histograms.at(tensor)[half].counts(), halves[half].counts()) << tensor;
    }
    // The largest of all samples is the end of the range.
    const std::vector<float>& samples = probes.tensors.at(tensor).samples;
    ASSERT_EQ(samples.size(), samples_.size()) << tensor;
    EXPECT_EQ(std::ranges::max(samples), alone.ranges.at(tensor).absmax()) << tensor;
  }
}

}  // namespace
}  // namespace vernier::testing
