#include "causes/causes.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(Causes, NothingIsNamedWhereNothingIsNeeded) {
  LayerFacts facts = layer("Conv", Format::Float16);
  facts.outputs = {tensor("y", ramp(1e6F))};
  facts.overflowed = 10;
  NetworkFacts network;
  network.layers = {facts};
  EXPECT_TRUE(find_causes(network).empty());
}

TEST(Causes, EveryCauseSaysWhatItRestsOnAndEndsWithKeeping) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.lattice = 0.007;
  for (const Cause& cause : causes_of(with_weight(weight, 1))) {
    EXPECT_FALSE(cause.figures.empty());
    EXPECT_FALSE(cause.sentence.empty());
    EXPECT_EQ(cause.repairs.back(), "keep-high");
    EXPECT_GT(cause.confidence, 0);
    EXPECT_LE(cause.confidence, 1);
  }
}

/// No layer of which is bad by itself.
NetworkFacts of_even_layers(double largest_share) {
  NetworkFacts network;
  network.needed = true;
  network.depth = 40;
  network.largest_share = largest_share;
  network.worst_own_noise = 5e-4;
  return network;
}

TEST(Causes, NoLayerByItself) {
  NetworkFacts network = of_even_layers(0.05);
  ASSERT_EQ(find_causes(network).size(), 1U);
  EXPECT_EQ(find_causes(network).front().id, "diffuse");
  EXPECT_EQ(find_causes(network).front().repairs, std::vector<std::string>{"keep-high"}) << "no layer has a range";
  network.output_noise = 3;
  EXPECT_TRUE(find_causes(network).empty()) << "more than errors that add up";
  network.output_noise = 0;
  network.largest_share = 0.5;
  EXPECT_TRUE(find_causes(network).empty());
}

TEST(Causes, NothingIsDiffuseBesideTheCauseOfALayer) {
  NetworkFacts network = of_even_layers(0.15);
  network.layers = {with_outlier_channel()};
  network.layers[0].share = 0.15;
  for (const Cause& cause : find_causes(network)) EXPECT_NE(cause.id, "diffuse");
  network.layers[0].share = 0.02;
  EXPECT_EQ(find_causes(network).back().id, "diffuse") << "that layer does too little";
}

TEST(Causes, SamplesThatDidNotCalibrateLoseWhatNoLayerShows) {
  NetworkFacts network;
  network.needed = true;
  network.depth = 40;
  network.largest_share = 0.05;
  network.worst_own_noise = 1e-5;
  network.output_noise = 1e-4;
  network.unseen_noise = 3e-4;
  EXPECT_EQ(find_causes(network).front().id, "diffuse");
  network.unseen_noise = 0.25;
  EXPECT_EQ(find_causes(network).front().id, "calibration-unrepresentative");
}

}  // namespace
}  // namespace vernier::testing
