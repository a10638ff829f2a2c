#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "made_up_facts.h"

namespace vernier::testing {
namespace {

TEST(Transformers, OutlierChannelsThatOthersShareAreThoseOfTheStream) {
  LayerFacts facts = with_outlier_channel();
  EXPECT_EQ(first_cause(facts), "outlier-channels");
  facts.alike_outliers = 2;
  const std::vector<Cause> causes = causes_of(facts);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes.front().id, "residual-outliers");
  EXPECT_NE(causes.front().sentence.find("2 other activations"), std::string::npos) << causes.front().sentence;
  EXPECT_FALSE(names(facts, "outlier-channels"));
}

TEST(Transformers, ANormThatMakesSmallValuesCountIsLeftWhatLayersDoNotExplain) {
  NetworkFacts network;
  network.needed = true;
  network.output_noise = 0.13;
  network.amplifiers = {{"norm", "LayerNormalization", "t", 3e-3, 0.13}};
  network.layers = {with_outlier_channel()};
  network.layers[0].share = 0.6;
  const std::vector<Cause> found = find_causes(network);
  const auto amplified = std::ranges::find(found, "amplified-values", &Cause::id);
  ASSERT_NE(amplified, found.end());
  EXPECT_DOUBLE_EQ(amplified->share.value(), 0.4);
}

TEST(Transformers, AStreamIsRotatedForWhatReadsIt) {
  LayerFacts facts = with_outlier_channel();
  const auto rotates = [&] {
    const std::vector<std::string> repairs = causes_of(facts).front().repairs;
    return std::ranges::find(repairs, "rotate-stream") != repairs.end();
  };
  EXPECT_FALSE(rotates());
  facts.reads_stream = true;
  EXPECT_TRUE(rotates());
  facts.inputs[0].places = PlaceMagnitudes{200, 3, 0, 40, 1};
  EXPECT_TRUE(rotates());
  facts.reads_stream = false;
  EXPECT_FALSE(rotates());
}

TEST(Transformers, AFewPlacesSayMoreThanTheirChannels) {
  LayerFacts facts = with_outlier_channel();
  facts.inputs[0].places = PlaceMagnitudes{200, 3, 0, 40, 1};
  EXPECT_EQ(first_cause(facts), "place-outliers");
  EXPECT_FALSE(names(facts, "outlier-channels"));
  // One token of a sequence, however short.
  for (const std::int64_t places : {8, 12, 16, 32}) {
    facts.inputs[0].places = PlaceMagnitudes{places, 1, 0, 40, 1};
    EXPECT_EQ(first_cause(facts), "place-outliers") << places;
  }
  facts.inputs[0].places = PlaceMagnitudes{200, 90, 0, 40, 1};  // most places have it
  EXPECT_EQ(first_cause(facts), "outlier-channels");
}

TEST(Transformers, AStreamOverflowsWhereABranchIsAdded) {
  LayerFacts facts = conv(tensor("x", ramp(4e4F)));
  facts.op_type = "Add";
  facts.format = Format::Float16;
  facts.outputs = {tensor("stream", ramp(7e4F))};
  facts.overflowed = 12;
  facts.own_noise = INFINITY;
  EXPECT_EQ(first_cause(facts), "overflow");
  facts.adds_branch = true;
  EXPECT_EQ(first_cause(facts), "residual-overflow");
  EXPECT_FALSE(names(facts, "overflow"));
  facts.outputs = {tensor("stream", ramp(6e4F))};
  EXPECT_FALSE(names(facts, "residual-overflow")) << "65504 is float16's largest value";
}

/// Scores near 200 at 62 dB, whose probabilities have 40 dB; 60 % of the damage.
SoftmaxFacts saturated() {
  SoftmaxFacts softmax;
  softmax.node = softmax.layer = "softmax";
  softmax.format = Format::Float16;
  softmax.score = 200;
  softmax.off = 0.16;
  softmax.before = 6e-7;
  softmax.behind = 1e-4;
  softmax.share = 0.6;
  return softmax;
}

bool has_large_logits(const SoftmaxFacts& softmax) {
  NetworkFacts network;
  network.softmaxes = {softmax};
  network.needed = true;
  const std::vector<Cause> causes = find_causes(network);
  return std::ranges::any_of(causes, [](const Cause& cause) { return cause.id == "large-logits"; });
}

TEST(Transformers, ASoftmaxMagnifiesTheErrorOfLargeScores) {
  EXPECT_TRUE(has_large_logits(saturated()));
  SoftmaxFacts small = saturated();
  small.score = 1.5;
  EXPECT_FALSE(has_large_logits(small)) << "whatever the error of ordinary scores comes from";
  SoftmaxFacts settled = saturated();
  settled.behind = 1e-6;
  EXPECT_FALSE(has_large_logits(settled)) << "where one score is far above all others, it may be off";
  SoftmaxFacts idle = saturated();
  idle.share = 0.02;
  EXPECT_FALSE(has_large_logits(idle)) << "the outputs hardly feel it";
}

TEST(Transformers, TheScoresOfAQuantizedClassifierAreItsOutput) {
  SoftmaxFacts classes = saturated();
  classes.of_weights = true;
  EXPECT_TRUE(has_large_logits(classes));
  classes.format = Format::Int8;
  EXPECT_FALSE(has_large_logits(classes));
}

TEST(Transformers, LargePlacesOfOneLargeChannelAreThatChannel) {
  LayerFacts facts = with_outlier_channel();
  facts.inputs[0].places = PlaceMagnitudes{200, 6, 0, 40, 1};
  EXPECT_EQ(first_cause(facts), "place-outliers");
  facts.inputs[0].places->in_channels = 5;
  EXPECT_EQ(first_cause(facts), "outlier-channels");
}

TEST(Transformers, OneValueSetsTheScaleOfItsBlock) {
  LayerFacts facts = conv(tensor("x", ramp(1)));
  facts.format = Format::NvFp4;
  TensorFacts weight = tensor("w", ramp(1));
  weight.constant = weight.weight = true;
  weight.blocks = BlockMagnitudes{100, 30, 2, 0.05};
  facts.inputs = {tensor("x", ramp(1)), weight};
  EXPECT_EQ(first_cause(facts), "block-outliers");
  facts.inputs[1].blocks->spoiled = 2;
  EXPECT_FALSE(names(facts, "block-outliers"));
  // Of an activation: 16 channels share a scale.
  facts.inputs[0].channels.assign(64, 1.0F);
  EXPECT_FALSE(names(facts, "block-outliers"));
  facts.inputs[0].channels[20] = 50;
  EXPECT_TRUE(names(facts, "block-outliers"));
}

}  // namespace
}  // namespace vernier::testing
