#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(Decisions, ADecisionThatWasClose) {
  NetworkFacts network;
  network.needed = true;
  network.output_noise = 1e-4;
  network.top1_agreement = 0.98;
  ASSERT_EQ(find_causes(network).size(), 1U);
  EXPECT_EQ(find_causes(network).front().id, "decision-boundary");
  network.top1_agreement = 1.0;
  EXPECT_TRUE(find_causes(network).empty());
  network.top1_agreement = 0.98;
  network.output_noise = 1e-2;
  EXPECT_TRUE(find_causes(network).empty()) << "the output is off";
}

TEST(Decisions, ADecisionInsideTheNetworkThatWasClose) {
  NetworkFacts network;
  network.needed = true;
  network.output_noise = 0.1;
  network.decisions = {{"some", "TopK", 0.01, 1e-4}, {"most", "ArgMax", 0.2, 1e-4}};
  ASSERT_EQ(find_causes(network).size(), 2U);
  EXPECT_EQ(find_causes(network).front().id, "close-decision");
  EXPECT_EQ(find_causes(network).front().layer, "most");
  network.decisions = {{"most", "ArgMax", 0, 1e-4}};
  EXPECT_TRUE(find_causes(network).empty()) << "it picks what it did";
  network.decisions = {{"most", "ArgMax", 0.2, 0.05}};
  EXPECT_TRUE(find_causes(network).empty()) << "what it reads is poor already";
  network.decisions = {{"most", "ArgMax", 0.2, 1e-3}};
  network.output_noise = 2e-3;
  EXPECT_TRUE(find_causes(network).empty()) << "what it picks makes nothing worse";
}

TEST(Decisions, ANormThatMakesSmallValuesCount) {
  NetworkFacts network;
  network.needed = true;
  network.output_noise = 0.13;
  network.depth = 6;
  network.largest_share = 0.2;
  network.worst_own_noise = 1e-3;
  network.worst_beyond_usual = 0.5;
  ASSERT_EQ(find_causes(network).size(), 1U);
  EXPECT_EQ(find_causes(network).front().id, "diffuse");
  network.amplifiers = {{"log", "Log", "p", 3e-3, 4e-3}, {"norm", "LayerNormalization", "t", 3e-3, 0.13}};
  ASSERT_EQ(find_causes(network).size(), 1U);
  EXPECT_EQ(find_causes(network).front().id, "amplified-values");
  EXPECT_TRUE(find_causes(network).front().sentence.starts_with("'norm' (LayerNormalization)"));
  EXPECT_EQ(find_causes(network).front().tensor, "t");
  network.output_noise = 6e-3;
  EXPECT_EQ(find_causes(network).front().id, "diffuse") << "the output is as good as what the norm reads";
  network.output_noise = 2;
  const std::vector<Cause> found = find_causes(network);
  EXPECT_TRUE(std::ranges::none_of(found, [](const Cause& cause) { return cause.id == "amplified-values"; }))
      << "what is behind the norm is little of the output's noise";
}

TEST(Engines, WhatTheyAddToTheNoiseIsACauseOfTheLayer) {
  NetworkFacts network;
  network.needed = true;
  EngineLossFacts loss;
  loss.engine = "ONNX Runtime 1.2.3";
  loss.there = 0.1;
  loss.simulated = 0.025;
  network.engine_loss = loss;
  Cause cause = find_causes(network).front();
  EXPECT_EQ(cause.id, "engine-loss");
  EXPECT_EQ(cause.layer, "") << "it is not known";
  EXPECT_DOUBLE_EQ(cause.share.value(), 0.75);
  EXPECT_EQ(
      cause.sentence,
      "ONNX Runtime 1.2.3 gets 10.0 dB, not 16.0 dB as simulated. Its own fusions and kernels add 75 % of the noise.");
  network.engine_loss->layer = "shares";
  network.engine_loss->op_type = "Softmax";
  network.engine_loss->option = "session.a=1";
  network.engine_loss->missed = network.engine_loss->gone = true;
  cause = find_causes(network).front();
  EXPECT_EQ(cause.layer, "shares");
  EXPECT_NE(cause.sentence.find("and misses the requirement for that reason"), std::string::npos) << cause.sentence;
  EXPECT_TRUE(cause.sentence.ends_with(
      "The result of this Softmax is the first that differs. The session option session.a=1 avoids it."));
  network.engine_loss->there = std::numeric_limits<double>::infinity();
  EXPECT_EQ(find_causes(network).front().share, 1);
}

}  // namespace
}  // namespace vernier::testing
