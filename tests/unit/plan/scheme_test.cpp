// From precision options to a plan: which layer takes which format, exceptions, and quantization parameters.
#include "plan/scheme.h"

#include "plan/calibrate.h"

#include <gtest/gtest.h>

#include "tiny_graph.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using testing::Names;
using testing::parse_model;

const char* const kNet = R"(
  g (float[1,2] x) => (float[1,3] y) <float[2,2] w1 = {1, -2, 3, 4}, float[2,3] w2 = {1, 2, 3, 4, 5, -6},
    int64[2] shape = {1, 2}> {
    [fc1] a = MatMul(x, w1)
    [act] b = Relu(a)
    [move] c = Reshape(b, shape)
    [fc2] y = MatMul(c, w2)
  })";

Model net() { return parse_model(kNet); }

PrecisionOptions precision(std::vector<Format> low, std::vector<std::pair<std::string, Format>> exceptions = {},
                           const std::string& constraints = "prefer") {
  PrecisionOptions options;
  options.low = std::move(low);
  options.layer_precisions = std::move(exceptions);
  options.constraints = constraints;
  return options;
}

AssignedFormats assigned(const PrecisionOptions& options) {
  const Model model = net();
  return assign_formats(model, find_layers(model), options);
}

std::vector<Format> formats_of(const Plan& plan) {
  std::vector<Format> formats;
  for (const PlannedLayer& layer : plan.layers) formats.push_back(layer.format);
  return formats;
}

RangeStats range_of(const std::vector<float>& values) {
  RangeStats range;
  accumulate_range(values, range);
  return range;
}

TEST(Scheme, Int8TakesTheWeightedOperatorsOnly) {
  const AssignedFormats result = assigned(precision({Format::Int8}));
  EXPECT_EQ(formats_of(result.plan), (std::vector{Format::Int8, Format::Float32, Format::Int8}));
  EXPECT_EQ(result.candidates, (Names{"fc1", "fc2"}));
}

TEST(Scheme, TheLowestFormatThatALayerCanTakeWins) {
  const AssignedFormats result = assigned(precision({Format::Float16, Format::Int8}));
  EXPECT_EQ(formats_of(result.plan), (std::vector{Format::Int8, Format::Float16, Format::Int8}));
  EXPECT_EQ(result.candidates, (Names{"fc1", "act", "fc2"}));
}

TEST(Scheme, TheHighFormatIsWhatTheRestRunsIn) {
  PrecisionOptions options = precision({Format::Int8});
  options.high = Format::Float16;
  const AssignedFormats result = assigned(options);
  EXPECT_EQ(formats_of(result.plan), (std::vector{Format::Int8, Format::Float16, Format::Int8}));
  EXPECT_EQ(result.candidates, (Names{"fc1", "fc2"}));  // `act` is high already
}

TEST(Scheme, WildcardsNameLayersAndTheLastMatchWins) {
  const AssignedFormats result =
      assigned(precision({Format::Int8}, {{"fc*", Format::Float16}, {"fc2", Format::Float32}}));
  EXPECT_EQ(formats_of(result.plan), (std::vector{Format::Float16, Format::Float32, Format::Float32}));
  EXPECT_TRUE(result.candidates.empty());  // asked for by the user: not up for search
  EXPECT_TRUE(result.warnings.empty());
}

TEST(Scheme, PreferKeepsALayerThatCannotAndSaysSo) {
  const AssignedFormats result = assigned(precision({Format::Int8}, {{"act", Format::Int8}}));
  EXPECT_EQ(formats_of(result.plan)[1], Format::Float32);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_EQ(result.warnings[0], "layer 'act' runs in float32, not int8: Relu is not an operator of the scheme");
}

TEST(Scheme, ObeyRefusesALayerThatCannot) {
  try {
    assigned(precision({Format::Int8}, {{"act", Format::Int8}}, "obey"));
    FAIL() << "an exception that no layer can honour went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_STREQ(error.what(), "layer 'act' cannot run in int8: Relu is not an operator of the scheme");
  }
}

TEST(Scheme, NoneIgnoresExceptionsAndListsThem) {
  const AssignedFormats result = assigned(precision({Format::Int8}, {{"fc1", Format::Float32}}, "none"));
  EXPECT_EQ(formats_of(result.plan)[0], Format::Int8);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_EQ(result.warnings[0], "--layer-precisions fc1:float32 is ignored (--precision-constraints none)");
}

TEST(Scheme, ANameThatMatchesNothingIsAMistake) {
  try {
    assigned(precision({Format::Int8}, {{"fc3", Format::Float32}}));
    FAIL() << "an unknown layer went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_STREQ(error.what(), "--layer-precisions: no layer is named 'fc3'");
    EXPECT_NE(error.hint().find("fc1"), std::string::npos);
  }
}

TEST(Scheme, LayersOfOtherFloatTypesAreLeftAlone) {
  const Model model = parse_model(R"(
    g (float[2] x) => (float[2] y) { [up] d = Cast<to = 11>(x) [e] h = Exp(d) [down] y = Cast<to = 1>(h) })");
  const std::vector<Layer> layers = find_layers(model);
  EXPECT_TRUE(assign_formats(model, layers, precision({Format::Float16})).candidates.empty());
  try {
    assign_formats(model, layers, precision({Format::Float16}, {{"e", Format::Float16}}, "obey"));
    FAIL() << "a float64 layer went to float16";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "layer 'e' cannot run in float16: it computes in float64");
  }
}

TEST(Scheme, ALayerThatTheSchemaRefusesSaysWhy) {
  const Model model = parse_model(
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> "
      "{ [conv] y = Conv(x, w) }");
  std::string reason;
  EXPECT_FALSE(can_take(model, find_layers(model)[0], Format::BFloat16, "tensorrt", &reason));
  EXPECT_EQ(reason, "the schema of Conv at opset 17 does not admit bfloat16 on its data path");
}

TEST(Scheme, FollowersTakeNoFormatOfTheirOwn) {
  const Model model = net();
  std::string reason;
  EXPECT_FALSE(can_take(model, find_layers(model)[2], Format::Float16, "tensorrt", &reason));
  EXPECT_EQ(reason, "it only moves data and follows its inputs");
}

TEST(Scheme, ActivationsAreSymmetricPerTensorAndWeightsPerOutputChannel) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = assign_formats(model, layers, precision({Format::Int8})).plan;
  EXPECT_EQ(tensors_to_calibrate(model, layers, plan), (std::set<std::string>{"x", "c"}));
  const std::vector<std::string> warnings =
      calibrate_plan(plan, model, layers, {{"x", range_of({-12.7F, 1})}, {"c", range_of({0, 254})}});
  EXPECT_TRUE(warnings.empty());
  EXPECT_EQ(plan.tensors.at("x").scale, std::vector<float>{12.7F / 127});
  EXPECT_EQ(plan.tensors.at("x").lowest_code, 0);  // QuantizeLinear of a typed model uses -128 too
  EXPECT_EQ(plan.tensors.at("c").scale, std::vector<float>{2});
  EXPECT_EQ(plan.tensors.at("w1").scale, (std::vector<float>{3.0F / 127, 4.0F / 127}));
  EXPECT_EQ(plan.tensors.at("w1").axis, 1);
  EXPECT_EQ(plan.tensors.at("w1").lowest_code, -127);
  EXPECT_EQ(plan.tensors.at("w2").scale, (std::vector<float>{4.0F / 127, 5.0F / 127, 6.0F / 127}));
}

TEST(Scheme, Uint8ActivationsAreAsymmetricWithInt8Weights) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = assign_formats(model, layers, precision({Format::UInt8})).plan;
  calibrate_plan(plan, model, layers, {{"x", range_of({-51, 204})}, {"c", range_of({0, 255})}});
  EXPECT_EQ(plan.tensors.at("x").format, Format::UInt8);
  EXPECT_EQ(plan.tensors.at("x").scale, std::vector<float>{1});
  EXPECT_EQ(plan.tensors.at("x").zero_point, std::vector<std::int32_t>{51});
  EXPECT_EQ(plan.tensors.at("w1").format, Format::Int8);
}

TEST(Scheme, ValuesThatAreNotFiniteAreLeftOutOfTheRangeWithAWarning) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = assign_formats(model, layers, precision({Format::Int8})).plan;
  const std::vector<std::string> warnings = calibrate_plan(
      plan, model, layers, {{"x", range_of({1, std::numeric_limits<float>::infinity()})}, {"c", range_of({1})}});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "tensor 'x': 1 of 2 values are not finite and were left out of its range");
}

TEST(Scheme, TheOnnxruntimeTargetTakesAsymmetricActivationsForInt8) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  PrecisionOptions options = precision({Format::Int8});
  options.target = "onnxruntime";
  Plan plan = assign_formats(model, layers, options).plan;
  calibrate_plan(plan, model, layers, {{"x", range_of({-51, 204})}, {"c", range_of({0, 255})}});
  EXPECT_EQ(plan.tensors.at("x").format, Format::UInt8);
  EXPECT_EQ(plan.tensors.at("x").zero_point, std::vector<std::int32_t>{51});
  EXPECT_EQ(plan.tensors.at("w1").format, Format::Int8);
  EXPECT_NE(plan.scheme.find("asymmetric per tensor"), std::string::npos) << plan.scheme;
}

TEST(Scheme, ATensorWithoutARangeIsAnError) {
  const Model model = net();
  const std::vector<Layer> layers = find_layers(model);
  Plan plan = assign_formats(model, layers, precision({Format::Int8})).plan;
  EXPECT_THROW(calibrate_plan(plan, model, layers, {{"x", range_of({1})}}), Error);
}

}  // namespace
}  // namespace vernier
