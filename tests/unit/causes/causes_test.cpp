// Each cause: a layer that has it, one that almost has it, and one with another cause that looks alike. Facts are made
// up here; tests/planted has them measured.
#include "causes/causes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "numerics/histogram.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"

namespace vernier {
namespace {

/// `count` values from -size to size, evenly.
std::vector<float> ramp(float size, int count = 1000) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) {
    values.push_back(size * (2 * static_cast<float>(i) / static_cast<float>(count - 1) - 1));
  }
  return values;
}

Distribution of_values(const std::vector<float>& values) {
  ValueHistogram histogram;
  histogram.add(values);
  return distribution_of(histogram);
}

TensorFacts tensor(const std::string& name, const std::vector<float>& values) {
  TensorFacts facts;
  facts.name = name;
  facts.values = of_values(values);
  return facts;
}

TensorFacts on_grid(TensorFacts facts, float absmax) {
  facts.grid = QuantParams{Format::Int8, {absmax / 127}, {}, -1, 0, 0};
  return facts;
}

LayerFacts layer(const std::string& op_type, Format format) {
  LayerFacts facts;
  facts.name = "layer";
  facts.op_type = op_type;
  facts.format = format;
  facts.own_noise = 1e-2;
  facts.output_rms = 1;
  return facts;
}

std::vector<Cause> causes_of(const LayerFacts& facts) {
  NetworkFacts network;
  network.layers = {facts};
  network.needed = true;
  return find_causes(network);
}

/// "" when none was found.
std::string first_cause(const LayerFacts& facts) {
  const std::vector<Cause> causes = causes_of(facts);
  return causes.empty() ? "" : causes.front().id;
}

TEST(Causes, NothingIsNamedWhereNothingIsNeeded) {
  LayerFacts facts = layer("Conv", Format::Float16);
  facts.outputs = {tensor("y", ramp(1e6F))};
  facts.overflowed = 10;
  NetworkFacts network;
  network.layers = {facts};
  EXPECT_TRUE(find_causes(network).empty());
}

TEST(Causes, OverflowIsWhereTheValueIsMade) {
  LayerFacts facts = layer("MatMul", Format::Float16);
  facts.inputs = {tensor("x", ramp(100))};
  facts.outputs = {tensor("y", ramp(70000))};
  facts.overflowed = 3;
  EXPECT_EQ(first_cause(facts), "overflow");
  // What arrives too large is the fault of a layer before.
  std::swap(facts.inputs, facts.outputs);
  EXPECT_NE(first_cause(facts), "overflow");
}

TEST(Causes, JustBelowTheLargestFloat16IsNoOverflow) {
  LayerFacts facts = layer("MatMul", Format::Float16);
  facts.inputs = {tensor("x", ramp(100))};
  facts.outputs = {tensor("y", ramp(65000))};
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, ANormOverflowsInside) {
  LayerFacts facts = layer("LayerNormalization", Format::Float16);
  facts.inputs = {tensor("x", ramp(300))};
  facts.outputs = {tensor("y", ramp(2))};
  EXPECT_EQ(first_cause(facts), "overflow-inside");
  facts.inputs = {tensor("x", ramp(200))};
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, AbsorptionIsNotOverflow) {
  LayerFacts facts = layer("Add", Format::Float16);
  facts.inputs = {tensor("x", ramp(1)), tensor("c", std::vector<float>(10, 65000.0F))};
  facts.outputs = {tensor("y", std::vector<float>(10, 65000.5F))};
  facts.output_rms = 65000;
  facts.own_noise = std::pow(0.5 / 65000, 2);
  EXPECT_EQ(first_cause(facts), "absorption");
  // Near 2 the same sum keeps nearly all of x.
  facts.inputs[1] = tensor("c", std::vector<float>(10, 2.0F));
  facts.output_rms = 2;
  facts.own_noise = std::pow(5e-4 / 2, 2);
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, CancellationIsWhereLargeOperandsNearlyAgree) {
  LayerFacts facts = layer("Sub", Format::Float16);
  facts.inputs = {tensor("a", std::vector<float>(10, 1000.0F)), tensor("b", std::vector<float>(10, 999.0F))};
  facts.output_rms = 1;
  facts.own_noise = 0.05;
  EXPECT_EQ(first_cause(facts), "cancellation");
  facts.inputs[1] = tensor("b", std::vector<float>(10, 900.0F));
  facts.output_rms = 100;
  facts.own_noise = 1e-6;
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, AnEpsilonIsLostBelowHalfTheSmallestFloat16) {
  LayerFacts facts = layer("Add", Format::Float16);
  facts.epsilon = 1e-12F;
  facts.read_by = {"Sqrt"};
  EXPECT_EQ(first_cause(facts), "lost-epsilon");
  facts.epsilon = 1e-6F;
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, AMaskIsNoOverflow) {
  LayerFacts facts = layer("Add", Format::Float16);
  TensorFacts mask = tensor("mask", {0});
  mask.constant = true;
  mask.mask = Mask{-1e9F, -1e9F, 10, 0};
  facts.inputs = {tensor("logits", ramp(5)), mask};
  facts.read_by = {"Softmax"};
  facts.overflowed = 10;
  EXPECT_EQ(first_cause(facts), "mask-constant");
  facts.inputs[1].mask->low = -1e4F;
  facts.overflowed = 0;
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, ARowThatIsMaskedAsAWhole) {
  LayerFacts facts = layer("Softmax", Format::Float16);
  facts.inputs = {tensor("logits", ramp(5))};
  facts.inputs[0].mask = Mask{-1e9F, -1e9F, 10, 5};
  facts.own_noise = INFINITY;
  EXPECT_EQ(first_cause(facts), "all-masked-softmax");
  facts.own_noise = 1e-6;
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, SmallValuesBecomeZero) {
  LayerFacts facts = layer("Mul", Format::Float16);
  facts.inputs = {tensor("x", ramp(1e-7F))};
  facts.rounded = 1000;
  facts.flushed = 300;
  facts.subnormal = 700;
  EXPECT_EQ(first_cause(facts), "subnormal-loss");
  facts.own_noise = 1e-7;  // they do not matter
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, WholeNumbersBeyond2048) {
  LayerFacts facts = layer("Mul", Format::Float16);
  std::vector<float> positions;
  for (int i = 1; i <= 4000; ++i) positions.push_back(static_cast<float>(i));
  facts.inputs = {tensor("positions", positions)};
  EXPECT_EQ(first_cause(facts), "large-integers");
  positions.resize(2000);
  facts.inputs = {tensor("positions", positions)};
  EXPECT_EQ(first_cause(facts), "");
}

LayerFacts conv(TensorFacts data) {
  LayerFacts facts = layer("Conv", Format::Int8);
  facts.inputs = {std::move(data)};
  return facts;
}

TEST(Causes, ARangeThatIsTooNarrowClips) {
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", ramp(1)), 0.5F))), "over-saturation");
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", ramp(1)), 0.999F))), "");
}

TEST(Causes, ARangeThatIsTooWideLeavesStepsUnused) {
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", ramp(1)), 40))), "unused-levels");
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", ramp(1)), 2))), "");
}

TEST(Causes, AFewLargeValuesAreOutliersNotAWideRange) {
  std::vector<float> values = ramp(1, 100000);
  values[5] = 60;
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", values), 60))), "activation-outliers");
  values[5] = 2;
  EXPECT_EQ(first_cause(conv(on_grid(tensor("x", values), 2))), "");
}

TEST(Causes, AFewLargeChannelsAreNotAFewLargeValues) {
  TensorFacts data = tensor("x", ramp(1, 10000));
  for (int i = 0; i < 100; ++i) data.values.bins.push_back({40, 41, 5});
  data.values.max = 40;
  data.values.count += 500;
  data.channels.assign(64, 1.0F);
  data.channels[7] = 40;
  EXPECT_EQ(first_cause(conv(on_grid(data, 40))), "outlier-channels");
  data.channels[7] = 5;
  EXPECT_NE(first_cause(conv(on_grid(data, 40))), "outlier-channels");
}

LayerFacts with_weight(TensorFacts weight, float absmax) {
  LayerFacts facts = layer("Conv", Format::Int8);
  weight.constant = weight.weight = true;
  facts.inputs = {on_grid(std::move(weight), absmax)};
  facts.weights_noise = 0.05;
  facts.activations_noise = 0.001;
  return facts;
}

TEST(Causes, WeightsOnAnotherGrid) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.lattice = 0.007;
  EXPECT_EQ(first_cause(with_weight(weight, 1)), "weight-grid");
  EXPECT_EQ(first_cause(with_weight(weight, 0.007F * 127)), "");
}

TEST(Causes, WeightsOnAnotherGridInSmallChannels) {
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

TEST(Causes, ChannelsOfVeryDifferentWeights) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.channels = {1, 0.5F, 0.005F};
  EXPECT_EQ(first_cause(with_weight(weight, 1)), "weight-channel-spread");
  weight.channels = {1, 0.5F, 0.1F};
  EXPECT_EQ(first_cause(with_weight(weight, 1)), "");
}

TEST(Causes, TheSideThatDoesTheDamageIsBlamed) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.channels = {1, 0.5F, 0.005F};
  LayerFacts facts = with_weight(weight, 1);
  std::swap(facts.weights_noise, facts.activations_noise);
  EXPECT_EQ(first_cause(facts), "");
  const Blame blame = blame_of(facts);
  EXPECT_GT(blame.activations.value(), 0.9);
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

TEST(Causes, BranchesOfVeryDifferentSizeShareOneRange) {
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

TEST(Causes, ABiasBeyondTheSumsOf32Bits) {
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

TEST(Causes, SumsOfManyProductsInFloat16) {
  LayerFacts facts = layer("MatMul", Format::Float16);
  facts.terms = 4096;
  ASSERT_EQ(first_cause(facts), "long-accumulation");
  EXPECT_LT(causes_of(facts).front().confidence, 0.5) << "engines differ: what is seen comes first";
  facts.terms = 4095;
  EXPECT_EQ(first_cause(facts), "");
  // Nearly equal operands lose digits in a sum of two.
  facts = layer("Sub", Format::Float16);
  facts.inputs = {tensor("a", std::vector<float>(10, 1000.0F)), tensor("b", std::vector<float>(10, 999.0F))};
  facts.terms = 4096;
  EXPECT_EQ(first_cause(facts), "cancellation");
}

TEST(Causes, SumsOfCodesBeyond32Bits) {
  LayerFacts facts = layer("MatMul", Format::Int8);
  facts.terms = 200000;
  facts.largest_sum = 3e9;
  EXPECT_EQ(first_cause(facts), "long-accumulation");
  facts.largest_sum = 2e9;
  EXPECT_EQ(first_cause(facts), "") << "as many products of smaller weights";
  facts = layer("MatMul", Format::Float8E4M3FN);
  facts.terms = 4096;
  EXPECT_EQ(first_cause(facts), "") << "sums of float8 are float32";
}

TEST(Causes, AShiftedMean) {
  LayerFacts facts = layer("Conv", Format::Int8);
  facts.mean_error = std::vector<double>(10, 0.1);
  EXPECT_EQ(first_cause(facts), "bias-shift");
  facts.mean_error = std::vector<double>(10, 0.01);
  EXPECT_EQ(first_cause(facts), "");
}

TEST(Causes, ProbabilitiesBelowAStep) {
  LayerFacts facts = layer("MatMul", Format::Int8);
  std::vector<float> probabilities(990, 1e-3F);
  probabilities.resize(1000, 0.9F);
  facts.inputs = {on_grid(tensor("p", probabilities), 0.9F)};
  facts.made_by = {"Softmax"};
  facts.own_noise = 1e-3;
  const std::vector<Cause> causes = causes_of(facts);
  EXPECT_TRUE(std::ranges::any_of(causes, [](const Cause& c) { return c.id == "attention-probabilities"; }));
  facts.made_by = {"Relu"};
  for (const Cause& cause : causes_of(facts)) EXPECT_NE(cause.id, "attention-probabilities");
}

bool names(const LayerFacts& facts, const char* id) {
  const std::vector<Cause> causes = causes_of(facts);
  return std::ranges::any_of(causes, [&](const Cause& cause) { return cause.id == id; });
}

TEST(Causes, SamplesThatCalibrationDidNotSee) {
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

TEST(Causes, ARangeThatIsAnotherInEverySample) {
  TensorFacts data = on_grid(tensor("x", ramp(1)), 1);
  data.samples = {0.01F, 0.02F, 1, 0.01F, 0.02F};
  EXPECT_EQ(first_cause(conv(data)), "range-per-sample");
  data.samples = {0.5F, 0.6F, 1, 0.4F, 0.7F};
  EXPECT_EQ(first_cause(conv(data)), "");
  // A range that is too wide for all of them.
  data.grid = on_grid(data, 40).grid;
  EXPECT_EQ(first_cause(conv(data)), "unused-levels");
}

TEST(Causes, ChannelsThatOneLargeWeightSpoils) {
  TensorFacts weight = tensor("w", ramp(1));
  weight.weight_noise = {1e-2, 1e-5, 1e-5, 1e-5};
  LayerFacts facts = with_weight(weight, 1);
  facts.inputs[0].grid->scale = {0.01F, 0.01F, 0.01F, 0.01F};
  EXPECT_EQ(first_cause(facts), "weight-outliers");
  facts.inputs[0].weight_noise[0] = 1e-3;
  EXPECT_EQ(first_cause(facts), "") << "30 dB are kept";
  // One step for channels of very different size spoils the small ones as well.
  facts.inputs[0].weight_noise[0] = 1e-2;
  facts.inputs[0].grid->scale = {0.01F};
  facts.inputs[0].channels = {0.005F, 1, 1, 1};
  EXPECT_EQ(first_cause(facts), "weight-channel-spread");
}

/// Values from `low` to 1, `share` of them between 0 and 1.
std::vector<float> from(float low) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(low + (1 - low) * static_cast<float>(i) / 999);
  return values;
}

TEST(Causes, DataOnOneSideOfZero) {
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

TEST(Causes, ATailOfSmallNegativeValues) {
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

TEST(Causes, BranchesOfAnAddOfVeryDifferentSize) {
  LayerFacts facts = layer("Add", Format::Int8);
  facts.inputs = {on_grid(tensor("large", ramp(90)), 90), on_grid(tensor("small", ramp(1)), 1)};
  const std::vector<Cause> causes = causes_of(facts);
  ASSERT_FALSE(causes.empty());
  EXPECT_EQ(causes.front().id, "residual-scales");
  EXPECT_EQ(causes.front().tensor, "small");
  facts.inputs[1] = on_grid(tensor("small", ramp(12)), 12);
  EXPECT_EQ(first_cause(facts), "") << "seven times";
  facts.inputs[1] = on_grid(tensor("small", ramp(1)), 1);
  facts.inputs[0].mask = Mask{};
  EXPECT_FALSE(names(facts, "residual-scales")) << "a mask, of which the range takes no notice";
  facts.inputs[0].mask.reset();
  facts.inputs[1] = on_grid(tensor("small", ramp(1)), 1);
  facts.op_type = "Mul";
  EXPECT_EQ(first_cause(facts), "") << "factors have their own sizes";
}

TEST(Causes, AGateOfAFeatureMap) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(1)), 1));
  facts.channels = 16;
  facts.gates = true;
  EXPECT_EQ(first_cause(facts), "gating");
  facts.gates = false;
  EXPECT_EQ(first_cause(facts), "");
  facts.gates = true;
  facts.format = Format::Float16;
  EXPECT_EQ(first_cause(facts), "") << "no grid";
}

TEST(Causes, ADepthwiseConvolutionIsNamedBehindWhatIsSurer) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(1)), 1));
  facts.depthwise = true;
  facts.terms = 9;
  EXPECT_EQ(first_cause(facts), "depthwise");
  facts.own_noise = 1e-3;
  EXPECT_EQ(first_cause(facts), "") << "30 dB is what others give";
  facts.own_noise = 1e-2;
  TensorFacts weight = tensor("w", ramp(1));
  weight.channels = {1, 0.5F, 0.005F};
  LayerFacts spread = with_weight(weight, 1);
  spread.depthwise = true;
  ASSERT_TRUE(names(spread, "depthwise"));
  EXPECT_EQ(first_cause(spread), "weight-channel-spread");
}

TEST(Causes, TheEndsOfTheNetwork) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(1)), 1));
  facts.last = true;
  EXPECT_EQ(first_cause(facts), "first-or-last-layer");
  facts.own_noise = 5e-4;
  EXPECT_EQ(first_cause(facts), "");
  facts.own_noise = 1e-2;
  facts.inputs = {on_grid(tensor("x", ramp(1)), 0.5F)};
  EXPECT_EQ(first_cause(facts), "over-saturation") << "its place is the last reason";
}

TEST(Causes, AnAngleOfManyTurns) {
  for (const char* op_type : {"Sin", "Cos"}) {
    LayerFacts facts = layer(op_type, Format::Float16);
    facts.inputs = {tensor("phase", ramp(800))};
    EXPECT_EQ(first_cause(facts), "large-phase");
    facts.inputs = {tensor("phase", ramp(20))};
    EXPECT_EQ(first_cause(facts), "");
    facts.format = Format::BFloat16;
    EXPECT_EQ(first_cause(facts), "large-phase") << "fewer digits";
    facts.own_noise = 1e-6;
    EXPECT_EQ(first_cause(facts), "") << "few values are as large";
  }
  LayerFacts facts = layer("Tanh", Format::Float16);
  facts.inputs = {tensor("x", ramp(800))};
  EXPECT_EQ(first_cause(facts), "") << "not periodic";
}

TEST(Causes, AnOverflowOfSquaresHasRewrites) {
  LayerFacts facts = layer("Pow", Format::Float16);
  facts.inputs = {tensor("x", ramp(300))};
  facts.outputs = {tensor("y", ramp(90000))};
  facts.overflowed = 3;
  facts.read_by = {"ReduceMean"};
  EXPECT_EQ(causes_of(facts).front().repairs, (std::vector<std::string>{"fuse-norm", "scale-square", "keep-high"}));
  facts.op_type = "MatMul";
  EXPECT_EQ(causes_of(facts).front().repairs, std::vector<std::string>{"keep-high"}) << "no rewrite is known";
  facts.read_by = {"Div"};
  EXPECT_EQ(causes_of(facts).front().repairs, (std::vector<std::string>{"scale-attention", "keep-high"}));
  facts.op_type = "Pow";
  EXPECT_EQ(causes_of(facts).front().repairs, std::vector<std::string>{"keep-high"}) << "no cube";
  facts.inputs.push_back(tensor("three", {3}));
  EXPECT_EQ(causes_of(facts).front().repairs, (std::vector<std::string>{"fuse-gelu", "clip-cube", "keep-high"}));
}

TEST(Causes, PairsOfProductsBeyond16Bits) {
  LayerFacts facts = layer("Conv", Format::UInt8);
  facts.pairs_beyond_16_bits = 0.01;
  ASSERT_EQ(first_cause(facts), "pair-saturation");
  EXPECT_LT(causes_of(facts).front().confidence, 0.5) << "CPUs differ: what is seen comes first";
  facts.pairs_beyond_16_bits = 1e-5;
  EXPECT_EQ(first_cause(facts), "") << "as ordinary weights";
  facts.largest_sum = 3e9;
  EXPECT_EQ(first_cause(facts), "long-accumulation") << "sums of 32 bits";
  facts = layer("Conv", Format::Int8);
  facts.pairs_beyond_16_bits = 0.01;
  EXPECT_EQ(first_cause(facts), "") << "signed times signed has no such instruction";
}

TEST(Causes, ABatchNormalizationThatIsNotFolded) {
  LayerFacts facts = conv(on_grid(tensor("x", ramp(1)), 1));
  facts.outputs = {on_grid(tensor("y", ramp(1)), 1)};
  facts.norm_spread = 30;
  EXPECT_EQ(first_cause(facts), "unfolded-batch-norm");
  facts.norm_spread = 3;
  EXPECT_EQ(first_cause(facts), "") << "channels of like size do with one step";
  facts.norm_spread = 30;
  facts.outputs = {tensor("y", ramp(1))};
  EXPECT_EQ(first_cause(facts), "") << "nothing is rounded between the two";
}

TEST(Causes, ADecisionThatWasClose) {
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

TEST(Causes, ADecisionInsideTheNetworkThatWasClose) {
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

TEST(Causes, NoLayerByItself) {
  NetworkFacts network;
  network.needed = true;
  network.depth = 40;
  network.largest_share = 0.05;
  network.worst_own_noise = 5e-4;
  ASSERT_EQ(find_causes(network).size(), 1U);
  EXPECT_EQ(find_causes(network).front().id, "diffuse");
  network.largest_share = 0.5;
  EXPECT_TRUE(find_causes(network).empty());
}

}  // namespace
}  // namespace vernier
