#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(GridOfData, ARangeThatIsTooNarrowClips) {
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", ramp(1)), 0.5F))), "over-saturation");
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", ramp(1)), 0.999F))), "");
}

TEST(GridOfData, ARangeThatIsTooWideLeavesStepsUnused) {
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", ramp(1)), 40))), "unused-levels");
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", ramp(1)), 2))), "");
  const std::string wide = causes_of(conv(on_grid(tensor("x", ramp(1)), 40))).front().sentence;
  EXPECT_NE(wide.find("Its scale is 0.315, and 0.007874 fits the samples"), std::string::npos) << wide;
}

TEST(GridOfData, ValuesAwayFromZeroUseTheStepsBelowThem) {
  std::vector<float> values = ramp(0.13F);
  for (float& value : values) value += 0.45F;
  EXPECT_FALSE(names(conv(on_grid(tensor("x", values), 0.59F)), "unused-levels"));
  EXPECT_TRUE(names(conv(on_grid(tensor("x", values), 6)), "unused-levels"));
}

TEST(GridOfData, StepsOfFloatsShrinkWithTheValues) {
  std::vector<float> silu(900, -0.002F);
  for (const float value : ramp(20, 200)) silu.push_back(std::abs(value));
  LayerFacts facts = conv(on_grid(tensor("x", silu), 20));
  EXPECT_TRUE(names(facts, "small-negative-tail"));
  facts.inputs[0].samples = {1, 1, 1, 1, 1, 1, 1, 30};
  EXPECT_TRUE(names(facts, "range-per-sample"));
  facts.format = Format::Float8E4M3FN;
  facts.inputs[0].grid = QuantParams{Format::Float8E4M3FN, {20.0F / 448}, {}, -1, 0, 0};
  EXPECT_FALSE(names(facts, "small-negative-tail"));
  EXPECT_FALSE(names(facts, "range-per-sample"));
  facts.inputs[0].samples = {1e-5F, 1e-5F, 1e-5F, 1e-5F, 1e-5F, 1e-5F, 1e-5F, 30};
  EXPECT_TRUE(names(facts, "range-per-sample")) << "below the smallest normal value of the grid";
}

TEST(GridOfData, AFewLargeValuesAreOutliersNotAWideRange) {
  std::vector<float> values = ramp(1, 100000);
  values[5] = 60;
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", values), 60))), "activation-outliers");
  values[5] = 2;
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", values), 2))), "");
}

TEST(GridOfData, AFewLargeChannelsAreNotAFewLargeValues) {
  EXPECT_EQ(first_cause(with_outlier_channel()), "outlier-channels");
  EXPECT_NE(first_cause(with_outlier_channel(5)), "outlier-channels");
}

/// What a convolution reads joins a branch up to 30 with one up to `small`.
LayerFacts behind_concat(float small, std::vector<float> channels) {
  std::vector<float> values = ramp(30, 500);
  const std::vector<float> others = ramp(small, 500);
  values.insert(values.end(), others.begin(), others.end());
  LayerFacts facts = conv(on_grid(tensor("joined", values), 30));
  facts.inputs[0].branches = {{"large", 30, 30 / std::sqrt(3.0)},
                              {"small", static_cast<double>(small), static_cast<double>(small) / std::sqrt(3.0)}};
  facts.inputs[0].channels = std::move(channels);
  return facts;
}

TEST(GridOfData, BranchesOfVeryDifferentSizeShareOneRange) {
  const std::vector<float> halves{30, 30, 30, 30, 0.5F, 0.5F, 0.5F, 0.5F};
  const std::vector<Cause> causes = causes_of(behind_concat(0.5F, halves));
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes.front().id, "concat-scales");
  EXPECT_NE(causes.front().sentence.find("'small'"), std::string::npos) << causes.front().sentence;
  // Six times smaller keeps 20 dB and more.
  EXPECT_EQ(first_cause(behind_concat(5, {30, 30, 30, 30, 5, 5, 5, 5})), "");
  // A few large channels of one tensor look alike.
  LayerFacts alike = behind_concat(0.5F, {30, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F, 0.5F});
  alike.inputs[0].branches.clear();
  EXPECT_EQ(first_cause(alike), "outlier-channels");
}

TEST(GridOfData, SamplesThatCalibrationDidNotSee) {
  TensorFacts data = on_grid(tensor("x", ramp(2)), 1);
  data.first_half = 1;
  data.second_half = 0.8F;
  EXPECT_TRUE(names(conv(data), "calibration-unrepresentative"));
  data.second_half = 0.95F;
  EXPECT_FALSE(names(conv(data), "calibration-unrepresentative")) << "its halves agree: these samples are others";
  // A range that a method chose narrower than what it saw clips too.
  data.second_half = 0.8F;
  data.grid = on_grid(tensor("x", ramp(2)), 1.8F).grid;
  EXPECT_FALSE(names(conv(data), "calibration-unrepresentative"));
}

TEST(GridOfData, ARangeThatIsAnotherInEverySample) {
  TensorFacts data = on_grid(tensor("x", ramp(1)), 1);
  data.samples = {0.01F, 0.02F, 1, 0.01F, 0.02F};
  EXPECT_EQ(first_cause(conv(data)), "range-per-sample");
  data.samples = {0.5F, 0.6F, 1, 0.4F, 0.7F};
  EXPECT_EQ(first_cause(conv(data)), "");
  // A range that is too wide for all of them.
  data.grid = on_grid(data, 40).grid;
  EXPECT_EQ(first_cause(conv(data)), "unused-levels");
}

/// Values from `low` to 1, `share` of them between 0 and 1.
std::vector<float> from(float low) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(low + (1 - low) * static_cast<float>(i) / 999);
  return values;
}

TEST(GridOfData, DataOnOneSideOfZero) {
  std::vector<float> values = from(0);
  for (float& value : values) value = 0.1F * value * value;
  values.push_back(1);  // its largest value leaves the others few steps
  EXPECT_TRUE(names(conv(on_grid(tensor("x", values), 1.5F)), "one-sided-data"));
  values.push_back(-0.2F);
  EXPECT_FALSE(names(conv(on_grid(tensor("x", values), 1.5F)), "one-sided-data")) << "a fifth on the other side";
  LayerFacts unsigned_codes = conv(on_grid(tensor("x", from(0)), 1.5F));
  unsigned_codes.format = Format::UInt8;
  EXPECT_FALSE(names(unsigned_codes, "one-sided-data")) << "a grid that begins at zero";
}

TEST(GridOfData, ATailOfSmallNegativeValues) {
  std::vector<float> values(600, -0.02F);
  values.resize(1000, 8);
  values.push_back(-0.25F);
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", values), 8))), "small-negative-tail");
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", values), 8.0F / 4))), "over-saturation")
      << "another range, another loss";
  std::vector<float> coarse(600, -0.1F);
  coarse.resize(1000, 8);
  EXPECT_FALSE(names(conv(on_grid(tensor("x", coarse), 8)), "small-negative-tail")) << "more than half a step";
  for (float& value : values) value = std::abs(value);
  EXPECT_FALSE(names(conv(on_grid(tensor("x", values), 8)), "small-negative-tail")) << "small, and above zero";
}

TEST(GridOfData, ChannelsOfADepthwiseLayerThatDrown) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(127)), 127));  // steps of 1
  facts.op_type = "ConvTranspose";
  facts.depthwise = true;
  facts.inputs[0].channels = {127, 90, 60, 40, 20, 9, 4, 2};
  facts.own_noise = 1e-3;
  facts.mean_error = std::vector<double>(8, 0.2);
  EXPECT_EQ(first_cause(facts), "channel-spread") << "and not bias-shift";
  facts.inputs[0].channels = {127, 90, 60, 40, 30, 30, 30, 30};
  EXPECT_FALSE(names(facts, "channel-spread"));
  // A sum over channels is as good as its large ones.
  facts.inputs[0].channels = {127, 90, 60, 40, 20, 9, 4, 2};
  facts.depthwise = false;
  EXPECT_FALSE(names(facts, "channel-spread"));
  facts.own_noise = 0.05;
  EXPECT_TRUE(names(facts, "channel-spread")) << "not so here";
}

TEST(GridOfData, OneDrownedChannelThatLargeWeightsMakeTheError) {
  std::vector<float> values = ramp(7);
  for (float& value : values) value = std::abs(value);
  LayerFacts facts = conv(on_grid(tensor("x", values), 7));
  facts.depthwise = true;
  facts.own_noise = 0.5;
  facts.inputs[0].channels.assign(32, 7);
  facts.inputs[0].channels[5] = 0.03F;  // steps of 0.055
  TensorFacts weight = tensor("w", ramp(1));
  weight.constant = weight.weight = true;
  weight.channels.assign(32, 1);
  facts.inputs.push_back(weight);
  EXPECT_TRUE(names(facts, "depthwise"));
  EXPECT_FALSE(names(facts, "channel-spread")) << "its weights are as small as those of the others";
  facts.inputs[1].channels[5] = 30;
  const std::vector<Cause> causes = causes_of(facts);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes.front().id, "channel-spread");
  EXPECT_NE(std::ranges::find(causes.front().repairs, "smooth"), causes.front().repairs.end());
  EXPECT_FALSE(names(facts, "depthwise"));
  EXPECT_FALSE(names(facts, "one-sided-data"));
  facts.own_noise = 1e-4;
  EXPECT_FALSE(names(facts, "channel-spread")) << "the layer is fine";
}

TEST(GridOfData, ABadActivationIsNamedBesideWorseWeights) {
  LayerFacts facts = with_outlier_channel();
  facts.activations_noise = 0.03;
  facts.weights_noise = 0.12;
  EXPECT_TRUE(names(facts, "outlier-channels")) << "15 dB by itself";
  facts.activations_noise = 0.003;
  facts.weights_noise = 0.012;
  EXPECT_FALSE(names(facts, "outlier-channels"));
}

}  // namespace
}  // namespace vernier::testing