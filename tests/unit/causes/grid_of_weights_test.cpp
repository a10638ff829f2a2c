#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "causes/cause.h"
#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(GridOfWeights, WeightsOnAnotherGrid) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.lattice = 0.007;
  EXPECT_EQ(first_cause(with_weight(weight, 1)), "weight-grid");
  EXPECT_EQ(first_cause(with_weight(weight, 0.007F * 127)), "");
}

TEST(GridOfWeights, SmallChannelsKeepTheirDigitsInFloats) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.channels = {1, 0.5F, 0.02F};
  LayerFacts facts = with_weight(weight, 1);
  EXPECT_TRUE(names(facts, "weight-channel-spread"));
  facts.format = Format::Float8E4M3FN;
  facts.inputs[0].grid = QuantParams{Format::Float8E4M3FN, {1.0F / 448}, {}, -1, 0, 0};
  EXPECT_FALSE(names(facts, "weight-channel-spread"));
  facts.inputs[0].channels[2] = 1e-5F;
  EXPECT_TRUE(names(facts, "weight-channel-spread")) << "below the smallest normal value of the grid";
}

TEST(GridOfWeights, WeightsOnAnotherGridInSmallChannels) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.lattice = 0.007;
  weight.channels = {1, 0.5F, 0.02F};
  weight.weight_noise = {1e-5, 1e-5, 0.05};
  LayerFacts facts = with_weight(weight, 1);
  facts.weights_noise = 5e-5;  // of all channels together
  facts.activations_noise = 5e-5;
  EXPECT_EQ(first_cause(facts), "weight-grid");
  // As unlike each other, but on no grid of their own.
  facts.inputs[0].lattice.reset();
  EXPECT_EQ(first_cause(facts), "weight-channel-spread");
  // On a grid, and no channel the worse for it.
  facts.inputs[0].lattice = 0.007;
  facts.inputs[0].channels = {1, 0.5F, 0.1F};
  facts.inputs[0].weight_noise = {1e-5, 1e-5, 1e-4};
  EXPECT_EQ(first_cause(facts), "");
}

TEST(GridOfWeights, ChannelsOfVeryDifferentWeights) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.channels = {1, 0.5F, 0.005F};
  EXPECT_EQ(first_cause(with_weight(weight, 1)), "weight-channel-spread");
  weight.channels = {1, 0.5F, 0.1F};
  EXPECT_EQ(first_cause(with_weight(weight, 1)), "");
}

TEST(GridOfWeights, ChannelsOfVeryDifferentWeightsThatShareOneOfSeveralScales) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.channels = {1, 0.5F, 0.005F, 0.4F};
  LayerFacts facts = with_weight(weight, 1);
  facts.inputs[0].grid->scale = {1, 1};
  facts.inputs[0].grid->axis = 1;
  facts.inputs[0].channel_scale = {0, 1, 0, 1};  // two groups of a ConvTranspose
  EXPECT_EQ(first_cause(facts), "weight-channel-spread");
  facts.inputs[0].channel_scale = {0, 0, 1, 0};
  EXPECT_EQ(first_cause(facts), "");
}

TEST(GridOfWeights, TheSideThatDoesTheDamageIsBlamed) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.channels = {1, 0.5F, 0.005F};
  LayerFacts facts = with_weight(weight, 1);
  std::swap(facts.weights_noise, facts.activations_noise);
  EXPECT_EQ(first_cause(facts), "");
  const Blame blame = blame_of(facts);
  EXPECT_GT(blame.activations.value(), 0.9);
}

TEST(GridOfWeights, ABiasBeyondTheSumsOf32Bits) {
  TensorFacts weight = tensor("w", ramp(1));
  LayerFacts facts = with_weight(weight, 40);
  facts.bias_steps = 4e10;
  EXPECT_EQ(first_cause(facts), "bias-clip");
  facts.inputs[0].lattice = 0.003;
  EXPECT_EQ(first_cause(facts), "bias-clip") << "the bias asks for the step, not the grid";
  facts.bias_steps = 1e9;
  EXPECT_EQ(first_cause(facts), "weight-grid");
  facts.inputs[0].lattice.reset();
  EXPECT_EQ(first_cause(facts), "") << "it fits";
  // Channels of very different weights look alike: one step is too wide there as well, and no bias made it so.
  facts.inputs[0].channels = {1, 0.5F, 0.005F};
  EXPECT_EQ(first_cause(facts), "weight-channel-spread");
}

TEST(GridOfWeights, AShiftedMean) {
  LayerFacts facts = layer("Conv", Format::Int8);
  facts.mean_error = std::vector<double>(10, 0.1);
  EXPECT_EQ(first_cause(facts), "bias-shift");
  facts.mean_error = std::vector<double>(10, 0.01);
  EXPECT_EQ(first_cause(facts), "");
}

TEST(GridOfWeights, MeansOfALargeErrorAreNoShift) {
  LayerFacts facts = layer("MatMul", Format::Float8E4M3FN);
  facts.mean_error = std::vector<double>(10, 0.1);
  facts.own_noise = 0.02;
  EXPECT_TRUE(names(facts, "bias-shift")) << "half of the error";
  facts.own_noise = 0.1;
  EXPECT_FALSE(names(facts, "bias-shift")) << "a tenth of it";
  facts.own_noise = 3e-3;
  EXPECT_FALSE(names(facts, "bias-shift")) << "what FP8 costs anywhere";
  facts.own_noise = 0.02;
  for (const Format format : {Format::Int4, Format::NvFp4}) {
    facts.format = format;
    EXPECT_FALSE(names(facts, "bias-shift"));
  }
}

TEST(GridOfWeights, ChannelsThatOneLargeWeightSpoils) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.weight_noise = {1e-2, 1e-5, 1e-5, 1e-5};
  LayerFacts facts = with_weight(weight, 1);
  facts.inputs[0].grid->scale = {0.01F, 0.01F, 0.01F, 0.01F};
  EXPECT_EQ(first_cause(facts), "weight-outliers");
  EXPECT_EQ(causes_of(facts).front().repairs,
            (std::vector<std::string>{"split-channels", "equalize", "range", "round-weights", "keep-high"}));
  facts.inputs[0].weight_noise[0] = 1e-3;
  EXPECT_EQ(first_cause(facts), "") << "30 dB are kept";
  // One step for channels of very different size spoils the small ones as well.
  facts.inputs[0].weight_noise[0] = 1e-2;
  facts.inputs[0].grid->scale = {0.01F};
  facts.inputs[0].channels = {0.005F, 1, 1, 1};
  EXPECT_EQ(first_cause(facts), "weight-channel-spread");
}

TEST(GridOfWeights, OneLargeWeightDoesNotHideWhatItSpoils) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.weight_noise = std::vector<double>(8, 1e-4);  // over an energy that is the large weight's
  weight.ordinary_noise = std::vector<double>(8, 2e-2);
  LayerFacts facts = with_weight(weight, 1);
  facts.inputs[0].grid->scale.assign(8, 0.01F);
  facts.mean_error = std::vector<double>(8, 0.2);
  EXPECT_EQ(first_cause(facts), "weight-outliers") << "and not bias-shift";
  facts.weights_noise = 1e-4;
  facts.activations_noise = 1e-4;
  EXPECT_FALSE(names(facts, "weight-outliers")) << "what the large weight makes is most of the result";
}

TEST(GridOfWeights, OneLargeWeightSpoilsItsChannelAlone) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.gaussian_noise = 4e-5;
  weight.scales = 64;
  weight.weight_noise = weight.ordinary_noise = std::vector<double>(64, 4e-5);
  weight.ordinary_noise[3] = 0.3;
  LayerFacts facts = with_weight(weight, 1);
  facts.weights_noise = 3.5e-4;
  facts.activations_noise = 9e-5;
  EXPECT_EQ(first_cause(facts), "weight-outliers");
  facts.weights_noise = 1e-4;
  EXPECT_FALSE(names(facts, "weight-outliers")) << "what Gaussian weights lose";
  facts.weights_noise = 3.5e-4;
  facts.inputs[0].ordinary_noise[3] = 1e-4;
  EXPECT_FALSE(names(facts, "weight-outliers"));
}

TEST(GridOfWeights, GaussianWeightsHaveNoOutliersInAnyFormat) {
  for (const std::size_t each : {9, 32, 128, 1152}) {
    const double usual = causes::gaussian_peak(each) / (7 * 7 * 12);
    TensorFacts weight = tensor("w", ramp(1));
    weight.gaussian_noise = usual;
    weight.scales = 64;
    weight.weight_noise = std::vector<double>(64, usual);
    LayerFacts facts = with_weight(weight, 1);
    facts.format = Format::Int4;
    EXPECT_FALSE(names(facts, "weight-outliers")) << each;
    // All channels a little, or few of them much.
    facts.inputs[0].weight_noise.assign(64, 2 * usual);
    EXPECT_TRUE(names(facts, "weight-outliers")) << each;
    facts.inputs[0].weight_noise.assign(64, usual);
    for (std::size_t c = 0; c < 6; ++c) facts.inputs[0].weight_noise[c] = 4 * usual;
    EXPECT_TRUE(names(facts, "weight-outliers")) << each;
  }
}

TEST(GridOfWeights, TheLargestOfGaussianValues) {
  EXPECT_NEAR(causes::gaussian_peak(1000), 11.6, 1.2);  // 3.2 to 3.4 standard deviations
  EXPECT_NEAR(causes::gaussian_peak(128), 7.6, 0.8);
  EXPECT_LE(causes::gaussian_peak(2), 2);
}

}  // namespace
}  // namespace vernier::testing
