// From precision options to a plan: which layer takes which format, and exceptions.
#include "plan/scheme.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <variant>

#include "plan/can_take.h"
#include "simulated_graph.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using testing::draft;
using testing::Draft;
using testing::Names;
using testing::parse_model;
using testing::with_initializer;

Model scheme_net() { return parse_model(testing::kTwoProducts); }

PrecisionOptions precision(std::vector<Format> low, std::vector<std::pair<std::string, Format>> exceptions = {},
                           PrecisionConstraints constraints = PrecisionConstraints::Prefer) {
  PrecisionOptions options;
  options.low = std::move(low);
  options.layer_precisions = std::move(exceptions);
  options.constraints = constraints;
  return options;
}

AssignedFormats assigned(const PrecisionOptions& options) {
  const Model model = scheme_net();
  return assign_formats(model, find_layers(model), options);
}

std::vector<Format> formats_of(const Plan& plan) {
  std::vector<Format> formats;
  for (const PlannedLayer& layer : plan.layers) formats.push_back(layer.format);
  return formats;
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
  EXPECT_EQ(result.warnings[0], (Note{"format-not-taken",
                                      {{"format", "float32"},
                                       {"asked", "int8"},
                                       {"reason", "Relu is not an operator of the scheme"},
                                       {"layer", "act"}}}));
}

TEST(Scheme, ObeyRefusesALayerThatCannot) {
  try {
    assigned(precision({Format::Int8}, {{"act", Format::Int8}}, PrecisionConstraints::Obey));
    FAIL() << "an exception that no layer can honour went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_STREQ(error.what(), "layer 'act' cannot run in INT8: Relu is not an operator of the scheme");
  }
}

TEST(Scheme, NoneIgnoresExceptionsAndListsThem) {
  const AssignedFormats result =
      assigned(precision({Format::Int8}, {{"fc1", Format::Float32}}, PrecisionConstraints::None));
  EXPECT_EQ(formats_of(result.plan)[0], Format::Int8);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_EQ(result.warnings[0], (Note{"layer-precision-ignored", {{"layer", "fc1"}, {"asked", "float32"}}}));
}

TEST(Scheme, WhatAScriptSetsWinsAndItsNamesAreNoPatterns) {
  PrecisionOptions options = precision({Format::Float16}, {{"*", Format::BFloat16}});
  options.layer_settings = {{"fc1", Format::Float32, {}}, {"fc?", Format::Float32, {}}, {"[a]ct", Format::Float32, {}}};
  const AssignedFormats result = assigned(options);
  EXPECT_EQ(formats_of(result.plan), (std::vector{Format::Float32, Format::BFloat16, Format::BFloat16}));
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_EQ(result.warnings[0], (Note{"settings-of-absent-layers", {{"layers", Names{"fc?", "[a]ct"}}}}));
}

TEST(Scheme, WhatAScriptSetsOfManyLayersIsRefusedInOneLine) {
  PrecisionOptions options = precision({Format::Float16});
  for (const char* name : {"fc1", "act", "fc2"}) options.layer_settings.push_back({name, Format::Float32, {}});
  options.constraints = PrecisionConstraints::None;
  EXPECT_EQ(
      assigned(options).warnings,
      (std::vector<Note>{{"script-format-ignored", {{"asked", "float32"}, {"layers", Names{"fc1", "act", "fc2"}}}}}));
}

TEST(Scheme, AnOutputTypeCanOnlyAgreeWithItsLayer) {
  PrecisionOptions options = precision({Format::Int8, Format::Float16});
  options.layer_settings = {{"fc1", {}, {Format::Float32}}, {"act", {}, {Format::Float32}}};
  EXPECT_EQ(
      assigned(options).warnings,
      (std::vector<Note>{{"output-type-without-effect",
                          {{"format", "float16"}, {"given", "float16"}, {"asked", "float32"}, {"layer", "act"}}}}));
  options.constraints = PrecisionConstraints::Obey;
  EXPECT_THROW(assigned(options), Error);
  options.layer_settings[1].precision = Format::Float32;
  EXPECT_EQ(formats_of(assigned(options).plan), (std::vector{Format::Int8, Format::Float32, Format::Int8}));
}

TEST(Scheme, ANameThatMatchesNothingIsAMistake) {
  try {
    PrecisionOptions options = precision({Format::Int8}, {{"fc3", Format::Float32}});
    const std::vector<Note> warned = assigned(options).warnings;
    ASSERT_EQ(warned.size(), 1U) << "one that is preferred may be another export's";
    EXPECT_EQ(warned.front().code, "no-such-layer");
    EXPECT_EQ(std::get<Names>(*warned.front().find("nearest")).front(), "fc1");
    options.constraints = PrecisionConstraints::Obey;
    assigned(options);
    FAIL() << "an unknown layer went through";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Usage);
    EXPECT_STREQ(error.what(), "‹layer-precisions›: no layer is named 'fc3'");
    EXPECT_NE(error.hint().find("fc1"), std::string::npos);
  }
}

TEST(Scheme, LayersOfOtherFloatTypesAreLeftAlone) {
  const Model model = parse_model(R"(
    g (float[2] x) => (float[2] y) { [up] d = Cast<to = 11>(x) [e] h = Exp(d) [down] y = Cast<to = 1>(h) })");
  const std::vector<Layer> layers = find_layers(model);
  EXPECT_TRUE(assign_formats(model, layers, precision({Format::Float16})).candidates.empty());
  try {
    assign_formats(model, layers, precision({Format::Float16}, {{"e", Format::Float16}}, PrecisionConstraints::Obey));
    FAIL() << "a float64 layer went to float16";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "layer 'e' cannot run in FP16: it computes in float64");
  }
}

TEST(Scheme, ALayerThatTheSchemaRefusesSaysWhy) {
  const Model model = parse_model(
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> "
      "{ [conv] y = Conv(x, w) }");
  std::string reason;
  EXPECT_FALSE(can_take(model, find_layers(model)[0], Format::BFloat16, Target::TensorRt, &reason));
  EXPECT_EQ(reason, "the schema of Conv at opset 17 does not admit bfloat16 on its data path");
}

TEST(Scheme, ForTensorRtNoLayerHasZeroPointsOrASingleBlock) {
  const Model model =
      parse_model("g (float[2,4] x) => (float[2,1] y) <float[4,1] w = {1, 2, 3, 4}> { [fc] y = MatMul(x, w) }", 21);
  std::string reason;
  EXPECT_FALSE(can_take(model, find_layers(model)[0], Format::UInt8, Target::TensorRt, &reason));
  EXPECT_NE(reason.find("refuses zero points"), std::string::npos);
  EXPECT_TRUE(can_take(model, find_layers(model)[0], Format::UInt8, Target::OpenVino, &reason));
  std::string ones = "1";
  for (int i = 1; i < 32; ++i) ones += ", 1";
  const Model block =
      parse_model("g (float[2,32] x) => (float[2,1] y) <float[32,1] w = {" + ones + "}> { [fc] y = MatMul(x, w) }", 21);
  EXPECT_FALSE(can_take(block, find_layers(block)[0], Format::Int4, Target::TensorRt, &reason));
  EXPECT_NE(reason.find("one block"), std::string::npos);
  EXPECT_TRUE(can_take(block, find_layers(block)[0], Format::Int4, Target::OnnxRuntime, &reason));
}

TEST(Scheme, LengthsKeepARecurrentLayerInFloat32ForTensorRt) {
  const Model model = parse_model(
      "g (float[3,1,1] x) => (float[3,d,1,1] y) <float[1,4,1] w = {1, 2, 3, 4}, float[1,4,1] r = {1, 2, 3, 4}, "
      "int32[1] lengths = {2}> { [lstm] y = LSTM <hidden_size = 1> (x, w, r, , lengths) }");
  std::string reason;
  EXPECT_FALSE(can_take(model, find_layers(model)[0], Format::Float16, Target::TensorRt, &reason));
  EXPECT_NE(reason.find("sequence_lens"), std::string::npos);
  EXPECT_TRUE(can_take(model, find_layers(model)[0], Format::Float16, Target::OnnxRuntime, &reason));
}

TEST(Scheme, WhatTheTargetsCompilerRefusesStaysInFloat32) {
  const Model model = parse_model(
      "g (float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {1}> "
      "{ [up] y = ConvTranspose(x, w) }",
      22);
  std::string reason;
  EXPECT_FALSE(can_take(model, find_layers(model)[0], Format::BFloat16, Target::TensorRt, &reason));
  EXPECT_NE(reason.find("compiled, TensorRT-RTX"), std::string::npos);
  EXPECT_TRUE(can_take(model, find_layers(model)[0], Format::Float16, Target::TensorRt, &reason));
  EXPECT_TRUE(can_take(model, find_layers(model)[0], Format::BFloat16, Target::OnnxRuntime, &reason));
}

TEST(Scheme, WhatTheTargetsParserMixesStaysInFloat32) {
  const auto takes = [](const char* graph, Format format) {
    const Model model = parse_model(graph, 22);
    return can_take(model, find_layers(model)[0], format, Target::TensorRt, nullptr);
  };
  const char* const mish = "g (float[2] x) => (float[2] y) { [act] y = Mish(x) }";
  EXPECT_FALSE(takes(mish, Format::BFloat16));
  EXPECT_TRUE(takes(mish, Format::Float16));
  const char* const plain =
      "g (float[1,1,2] x) => (float[1,1,1,1] y) <float[1,4,2] w = {1, 1, 1, 1, 1, 1, 1, 1}, float[1,4,1] r = {1, 1, 1, "
      "1}> "
      "{ [lstm] y = LSTM <hidden_size = 1> (x, w, r) }";
  const char* const peepholes =
      "g (float[1,1,2] x) => (float[1,1,1,1] y) <float[1,4,2] w = {1, 1, 1, 1, 1, 1, 1, 1}, float[1,4,1] r = {1, 1, 1, "
      "1}, "
      "float[1,3] p = {1, 1, 1}> { [lstm] y = LSTM <hidden_size = 1> (x, w, r, , , , , p) }";
  for (const Format format : {Format::Float16, Format::BFloat16}) {
    EXPECT_TRUE(takes(plain, format));
    EXPECT_FALSE(takes(peepholes, format));
  }
}

TEST(Scheme, BodiesOfAScanStayInFloat32ForTensorRt) {
  const Model model = parse_model(
      "g (float[2] s, float[3,2] x) => (float[2] y, float[3,2] z) { [scan] y, z = Scan <num_scan_inputs = 1, body = b "
      "(float[2] i, float[2] n) => (float[2] o, float[2] p) { [sum] o = Add(i, n) [same] p = Identity(o) }> (s, x) }",
      22);
  const std::vector<Layer> layers = find_layers(model);
  const auto sum = std::ranges::find(layers, "sum", &Layer::name);
  ASSERT_NE(sum, layers.end());
  std::string reason;
  EXPECT_FALSE(can_take(model, *sum, Format::Float16, Target::TensorRt, &reason));
  EXPECT_NE(reason.find("within a Scan"), std::string::npos) << reason;
}

TEST(Scheme, ResultsInsideBodiesHaveNoRangeForOnnxRuntime) {
  const Model model = parse_model(R"(
    g (bool c, float[1,1,2,2] x) => (float[1,1,2,2] y) <float[1,1,1,1] w = {2}, float[2,2] m = {1, 2, 3, 4}> {
      [choose] y = If(c) <
        then_branch = t () => (float[1,1,2,2] a) { [conv] a = Conv(x, w) },
        else_branch = e () => (float[1,1,2,2] b) { [product] b = MatMul(x, m) }>
    })");
  const std::vector<Layer> layers = find_layers(model);
  const auto conv = std::ranges::find(layers, "conv", &Layer::name);
  const auto product = std::ranges::find(layers, "product", &Layer::name);
  ASSERT_NE(conv, layers.end());
  ASSERT_NE(product, layers.end());
  std::string reason;
  EXPECT_FALSE(can_take(model, *conv, Format::UInt8, Target::OnnxRuntime, &reason));
  EXPECT_EQ(reason, "its result is made inside the body of 'choose', where no range is measured");
  EXPECT_TRUE(can_take(model, *product, Format::UInt8, Target::OnnxRuntime, &reason)) << "its kernel gives float";
  EXPECT_TRUE(can_take(model, *conv, Format::Int8, Target::TensorRt, &reason)) << "its result stays in float";
}

TEST(Scheme, AGridIsAsFineAsTheFileHasIt) {
  const Model model =
      parse_model("g (float[1,1,2,2] x, float[1,2,2,2] g) => (float[1,1,2,2] y) { [warp] y = GridSample(x, g) }");
  std::string reason;
  EXPECT_FALSE(can_take(model, find_layers(model)[0], Format::Float16, Target::TensorRt, &reason));
  EXPECT_NE(reason.find("data and grid of one type"), std::string::npos);
  EXPECT_TRUE(can_take(model, find_layers(model)[0], Format::Float16, Target::OnnxRuntime, &reason));
}

TEST(Scheme, FollowersTakeNoFormatOfTheirOwn) {
  const Model model = scheme_net();
  std::string reason;
  EXPECT_FALSE(can_take(model, find_layers(model)[2], Format::Float16, Target::TensorRt, &reason));
  EXPECT_EQ(reason, "it only moves data and follows its inputs");
}

TEST(Scheme, TheOnnxruntimeTargetTakesEveryOperatorWithAnIntegerKernel) {
  const Model model = parse_model(R"(
    g (float[1,2,4,4] x) => (float[1,2,1,1] y) <float[2,2,1,1] w = {1, 2, 3, 4}, float[1] k = {2}> {
      [conv] a = Conv(x, w)
      [act] b = Relu(a)
      [up] c = ConvTranspose(b, w)
      [scale] d = Mul(c, k)
      [tanh] e = Tanh(d)
      [join] f = Concat <axis = 1> (e, e)
      [pool] g = GlobalAveragePool(f)
      [gate] y = Sigmoid(g)
    })");
  PrecisionOptions options = precision({Format::Int8});
  options.target = Target::OnnxRuntime;
  options.even_if_slower = true;
  const AssignedFormats result = assign_formats(model, find_layers(model), options);
  EXPECT_EQ(result.candidates, (Names{"conv", "scale", "pool", "gate"}));
  EXPECT_EQ(result.plan.format_of("scale"), Format::UInt8);
  EXPECT_EQ(result.plan.format_of("act"), Format::Float32) << "it belongs to the convolution";
  EXPECT_NE(result.plan.scheme.find("inputs and outputs of Conv, Gemm"), std::string::npos) << result.plan.scheme;
  EXPECT_NE(result.plan.scheme.find("ConvTranspose has no integer kernel"), std::string::npos) << result.plan.scheme;
}

TEST(Scheme, AnActivationBehindALayerOnIntegerKernelsIsNoCandidateForAnotherFormat) {
  const Model model = scheme_net();
  PrecisionOptions options = precision({Format::Int8, Format::Float16});
  options.target = Target::OnnxRuntime;
  options.even_if_slower = true;
  EXPECT_EQ(assign_formats(model, find_layers(model), options).candidates, (Names{"fc1", "fc2"}));
  options.target = Target::TensorRt;
  EXPECT_EQ(assign_formats(model, find_layers(model), options).candidates, (Names{"fc1", "act", "fc2"}));
  options = precision({Format::Int8}, {{"act", Format::Float16}});
  options.target = Target::OnnxRuntime;
  EXPECT_EQ(assign_formats(model, find_layers(model), options).plan.format_of("act"), Format::Float16) << "as asked";
}

TEST(Scheme, OnOnnxruntimeOnlyWhatGainsTimeIsQuantized) {
  const Model model = scheme_net();
  PrecisionOptions options = precision({Format::Int8});
  options.target = Target::OnnxRuntime;
  const AssignedFormats small = assign_formats(model, find_layers(model), options);
  EXPECT_TRUE(small.nothing_gains);
  EXPECT_TRUE(small.candidates.empty());
  EXPECT_EQ(small.warnings, (std::vector<Note>{{"nothing-faster-in-int8", {}}}));
  EXPECT_EQ(small.skipped.front().reason, "ONNX Runtime saves no time with it in this place");
  // Who names a layer or an operator has chosen.
  options.selection.op_types = {"MatMul"};
  EXPECT_EQ(assign_formats(model, find_layers(model), options).candidates, (Names{"fc1", "fc2"}));
  options.selection = {};
  options.layer_precisions = {{"fc2", Format::Int8}};
  EXPECT_EQ(assign_formats(model, find_layers(model), options).plan.format_of("fc2"), Format::UInt8);
  EXPECT_EQ(assign_formats(model, find_layers(model), options).plan.format_of("fc1"), Format::Float32);
}

/// Tanh has no kernel on codes: behind it the second product needs a border that costs more than both gain. That it may
/// run in float16 changes nothing about that.
TEST(Scheme, WhatRunsInFloat16IsNoPartOfARegionOfCodes) {
  const Model model = with_initializer(draft("g (float[1,64,28,28] x) => (float[1,64,28,28] y) {"
                                             " [conv1] a = Conv(x, w) [tanh] b = Tanh(a) [conv2] y = Conv(b, w) }"),
                                       "w", Tensor(Dtype::Float32, {64, 64, 1, 1}));
  PrecisionOptions options = precision({Format::Int8});
  options.target = Target::OnnxRuntime;
  EXPECT_TRUE(assign_formats(model, find_layers(model), options).candidates.empty());
  options.low = {Format::Int8, Format::Float16};
  const Plan plan = assign_formats(model, find_layers(model), options).plan;
  for (const char* layer : {"conv1", "tanh", "conv2"}) EXPECT_EQ(plan.format_of(layer), Format::Float16) << layer;
}

TEST(Scheme, AnOperatorWithoutAnIntegerKernelIsRefusedWithTheReason) {
  const Model model = parse_model(
      "g (float[1,2,4,4] x) => (float[1,2,4,4] y) <float[2,2,1,1] w = {1, 2, 3, 4}> { [up] y = ConvTranspose(x, w) }");
  PrecisionOptions options = precision({}, {{"up", Format::Int8}}, PrecisionConstraints::Obey);
  options.target = Target::OnnxRuntime;
  try {
    assign_formats(model, find_layers(model), options);
    FAIL() << "a ConvTranspose in int8 went through";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "layer 'up' cannot run in UINT8: ConvTranspose is not an operator of the scheme: ONNX Runtime's CPU "
                 "provider has no integer kernel for it");
  }
}

TEST(Scheme, ADilatedAveragePoolHasNoKernelOnCodes) {
  for (const char* attributes : {"", ", dilations = [1, 1]", ", dilations = [2, 1]"}) {
    const Model model = draft(std::string("g (float[1,2,8,8] x) => (float[1,2,a,b] y) {"
                                          " [pool] y = AveragePool<kernel_shape = [2, 2]") +
                                  attributes + ">(x) }",
                              19);
    std::string reason;
    EXPECT_EQ(can_take(model, find_layers(model)[0], Format::UInt8, Target::OnnxRuntime, &reason),
              std::string(attributes) != ", dilations = [2, 1]")
        << attributes << reason;
  }
}

TEST(Scheme, AnOperandThatIsNotFiniteKeepsALayerInFloat) {
  const Draft masked =
      with_initializer(draft("g (bool[2] c, float[2] x) => (float[2] y) { [mask] y = Where(c, x, v) }"), "v",
                       Tensor::of({1}, std::vector<float>{-std::numeric_limits<float>::infinity()}));
  std::string reason;
  const Model model = masked;
  EXPECT_FALSE(can_take(model, find_layers(model)[0], Format::UInt8, Target::OnnxRuntime, &reason));
  EXPECT_EQ(reason, "its constant 'v' holds values that are not finite");
}

TEST(Scheme, TheTensorrtTargetTakesInputsOfWeightedOperatorsAlone) {
  EXPECT_EQ(scheme_text(precision({Format::Int8})),
            "int8: inputs of Conv, ConvTranspose, Gemm, MatMul, symmetric per tensor (absolute maximum), weights int8 "
            "symmetric per output channel, bias and outputs in float; the rest in float32; target tensorrt");
}

}  // namespace
}  // namespace vernier
