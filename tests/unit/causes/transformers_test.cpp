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

TEST(Transformers, AStreamIsRotatedForWhatReadsIt) {
  LayerFacts facts = with_outlier_channel();
  const auto rotates = [&] {
    const std::vector<std::string> repairs = causes_of(facts).front().repairs;
    return std::ranges::find(repairs, "rotate-stream") != repairs.end();
  };
  EXPECT_FALSE(rotates());
  facts.reads_stream = true;
  EXPECT_TRUE(rotates());
  facts.inputs[0].places = PlaceMagnitudes{200, 3, 40, 1};
  EXPECT_TRUE(rotates());
  facts.reads_stream = false;
  EXPECT_FALSE(rotates());
}

TEST(Transformers, AFewPlacesSayMoreThanTheirChannels) {
  LayerFacts facts = with_outlier_channel();
  facts.inputs[0].places = PlaceMagnitudes{200, 3, 40, 1};
  EXPECT_EQ(first_cause(facts), "place-outliers");
  EXPECT_FALSE(names(facts, "outlier-channels"));
  // One token of a sequence, however short.
  for (const std::int64_t places : {8, 12, 16, 32}) {
    facts.inputs[0].places = PlaceMagnitudes{places, 1, 40, 1};
    EXPECT_EQ(first_cause(facts), "place-outliers") << places;
  }
  facts.inputs[0].places = PlaceMagnitudes{200, 90, 40, 1};  // most places have it
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

TEST(Transformers, AStepOfALargeScoreChangesItsProbability) {
  LayerFacts facts = conv(tensor("x", ramp(1)));
  facts.op_type = "Add";
  facts.format = Format::Float16;
  facts.outputs = {tensor("scores", ramp(600))};  // steps of 0.5 from 512 on: 0.14 off
  facts.read_by = {"Softmax"};
  facts.effect_noise = 1e-2;
  EXPECT_EQ(first_cause(facts), "large-logits");
  facts.effect_noise = 1e-6;
  EXPECT_FALSE(names(facts, "large-logits")) << "where one score is far above all others, it may be off";
  facts.effect_noise = 1e-2;
  facts.outputs = {tensor("scores", ramp(60))};
  EXPECT_FALSE(names(facts, "large-logits"));
  facts.format = Format::BFloat16;
  EXPECT_TRUE(names(facts, "large-logits")) << "steps of 0.25";
}

TEST(Transformers, SaturatedRowsDoNotHideWhatScoresLose) {
  LayerFacts facts = layer("Softmax", Format::BFloat16);
  facts.inputs = {tensor("scores", ramp(500))};  // steps of 2: 0.6 off
  facts.own_noise = 1e-3;                        // most rows have one large score, and are right
  EXPECT_EQ(first_cause(facts), "large-logits");
  facts.masked_rows = MaskedRows{"layer", "scores", 6, 60, 65504, 0.9};
  EXPECT_FALSE(names(facts, "large-logits")) << "masked rows make the error";
  facts.masked_rows.reset();
  facts.own_noise = 1e-4;
  EXPECT_FALSE(names(facts, "large-logits")) << "what bfloat16 costs anywhere";
}

TEST(Transformers, QuantizedProductsBecomeScores) {
  LayerFacts facts = layer("MatMul", Format::Int8);
  facts.outputs = {tensor("product", ramp(800))};
  facts.own_noise = 2e-4;
  facts.scores_rms = 200;  // 2.8 off
  facts.effect_noise = 1e-2;
  EXPECT_EQ(first_cause(facts), "large-logits");
  facts.effect_noise = 1e-5;
  EXPECT_FALSE(names(facts, "large-logits")) << "nothing changes";
  facts.effect_noise = 1e-2;
  facts.scores_rms = 2;
  EXPECT_FALSE(names(facts, "large-logits")) << "0.03 off";
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
