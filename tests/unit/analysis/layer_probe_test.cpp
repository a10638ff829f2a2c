#include "analysis/layer_probe.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>

#include "analysis/own_error.h"
#include "analysis/reference.h"
#include "tiny_networks.h"
#include "vernier/format.h"
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
  const Probes probes = probe(subject_, plan_, weights_, {layer}, {}, shapes_);
  ASSERT_EQ(probes.layers.size(), 1U);
  const LayerProbe& seen = probes.layers.at(layer);
  const std::vector<LayerError> all = own_error(subject_, plan_, weights_);
  EXPECT_EQ(seen.own, std::ranges::find(all, layer, &LayerError::layer)->error);
  const auto means = mean_errors(subject_, plan_, weights_, shapes_, all_samples(subject_));
  ASSERT_GT(means.size(), 1U);
  EXPECT_EQ(seen.mean_error, means.at(layer));
  EXPECT_GT(seen.own_with_exact_weights.error_energy, 0);
  EXPECT_NE(seen.own_with_exact_weights.error_energy, seen.own.error_energy);
}

TEST_F(Probe, SeesTheLargestMagnitudesOfAnInputByChannelAndBySample) {
  const Probes probes = probe(subject_, plan_, weights_, {}, {"x", "no such tensor"}, shapes_);
  ASSERT_EQ(probes.tensors.size(), 1U);
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

}  // namespace
}  // namespace vernier::testing
