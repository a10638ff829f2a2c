#include "vernier/quantize.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "job_files.h"
#include "plan/plan.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/quantize.h"
#include "vernier/requirement.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// BatchNormalization behind the convolution: folded for low formats.
constexpr const char* kNormalized = R"(
  g (float[1,3,8,8] x) => (float[1,8,8,8] y) {
    [conv] c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w1, b1)
    [norm] n = BatchNormalization (c, gamma, beta, mean, variance)
    [relu] r = Relu (n)
    [conv2] y = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r, w2, b2)
  })";

NamedTensors normalized_weights() {
  NamedTensors weights = conv_net_weights();
  weights.resize(4);
  for (const auto& [name, value] : {std::pair{"gamma", 1.5F}, {"beta", 0.25F}, {"mean", 0.5F}, {"variance", 2.0F}}) {
    weights.emplace_back(name, Tensor::of({8}, std::vector<float>(8, value)));
  }
  return weights;
}

std::vector<Tensor> exact_outputs(const std::filesystem::path& file, const Sample& sample) {
  return evaluate_exactly(Runtime::load(), read_model(file), sample);
}

TEST(Convert, WithThePlanOfADiagnosisWritesItsModelByteForByte) {
  for (const Format low : {Format::Int8, Format::Float16}) {
    for (const double over : {-100.0, 3.0}) {  // nothing kept, something kept
      const NetFiles files(network(kNormalized, normalized_weights()));
      DiagnoseOptions options = files.diagnose_options({low});
      const double all_low = diagnose(options).all_low.outputs.front().sqnr_db;
      options.measure.requirement = at_least_db(all_low + over);
      const DiagnoseReport report = diagnose(options);
      EXPECT_EQ(report.kept.value().layers.empty(), over < 0) << format_name(low);
      QuantizeOptions quantize_options = files.quantize_options({});
      quantize_options.plan = files / "out" / "plan.json";
      quantize(quantize_options);
      EXPECT_EQ(network_in(files / "converted.onnx"), network_in(files / "out" / "model.onnx")) << format_name(low);
    }
  }
}

TEST(Convert, WithAPlanThatKeepsEverythingWritesTheModelOfTheDiagnosis) {
  const NetFiles files(network(kNormalized, normalized_weights()));
  DiagnoseOptions options = files.diagnose_options({Format::Int8});
  options.measure.requirement = at_least_db(100);
  const DiagnoseReport report = diagnose(options);
  ASSERT_EQ(report.kept.value().layers.size(), 2U);
  QuantizeOptions quantize_options = files.quantize_options({});
  quantize_options.plan = files / "out" / "plan.json";
  quantize(quantize_options);
  EXPECT_EQ(network_in(files / "converted.onnx"), network_in(files / "out" / "model.onnx"));
}

TEST(Convert, FromOptionsEqualsADiagnosisThatKeepsNothing) {
  const NetFiles files(network(kNormalized, normalized_weights()));
  diagnose(files.diagnose_options({Format::Int8}));
  const QuantizeResult result = quantize(files.quantize_options({Format::Int8}));
  EXPECT_EQ(network_in(files / "converted.onnx"), network_in(files / "out" / "model.onnx"));
  EXPECT_EQ(result.layers_by_format.at("int8"), 2U);
  EXPECT_EQ(result.typed.quantize_pairs, 4) << "two activations, two weights";
}

TEST(Convert, AllFloat32ComputesTheSameBits) {
  struct Case {
    onnx::ModelProto model;
    Shape input;
  };
  const std::vector<Case> cases{{network(kConvNet, conv_net_weights()), kConvNetInput},
                                {network(kNormalized, normalized_weights()), kConvNetInput},
                                {whole_proto(if_net()), {4, 20}}};
  for (const Case& one : cases) {
    const NetFiles files(one.model, one.input, 3);
    QuantizeOptions options = files.quantize_options({});
    options.precision.layer_precisions = {{"*", Format::Float32}};
    const QuantizeResult result = quantize(options);
    EXPECT_EQ(result.typed.casts, 0);
    EXPECT_EQ(result.layers_by_format.size(), 1U);
    for (std::uint32_t s = 0; s < 3; ++s) {
      const Sample sample{{"x", bell(one.input, 1000 + s)}};
      const auto before = exact_outputs(files.model_file(), sample);
      const auto after = exact_outputs(files / "converted.onnx", sample);
      ASSERT_EQ(before.size(), after.size());
      for (std::size_t i = 0; i < before.size(); ++i) EXPECT_TRUE(same_bits(before[i], after[i]));
    }
  }
}

TEST(Convert, AllFloat32TakesModelsWithoutLayers) {
  const NetFiles files(network("g (float[1,4] x) => (int64[2] y) { y = Shape(x) }"), {1, 4});
  QuantizeOptions options = files.quantize_options({});
  options.precision.layer_precisions = {{"*", Format::Float32}};
  quantize(options);
  EXPECT_TRUE(same_bits(exact_outputs(files / "converted.onnx", {{"x", bell({1, 4}, 1)}}).front(),
                        Tensor::of_int64({2}, std::vector<std::int64_t>{1, 4})));
}

TEST(Convert, PrintsNothingAboutRemovedOperators) {
  const NetFiles files(
      network("g (float[1,3,2,2] x) => (float[1,3,2,2] y) { s = ImageScaler <scale = 2.0> (x) y = Relu (s) }", {}, 9),
      {1, 3, 2, 2});
  QuantizeOptions options = files.quantize_options({});
  options.precision.layer_precisions = {{"*", Format::Float32}};
  ::testing::internal::CaptureStdout();
  quantize(options);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

TEST(Convert, RefusesAPlanOfAnotherModel) {
  const NetFiles files;
  diagnose(files.diagnose_options({Format::Int8}));
  const NetFiles other(network(kNormalized, normalized_weights()));
  QuantizeOptions options = other.quantize_options({});
  options.plan = files / "out" / "plan.json";
  const Error error = error_of([&] { quantize(options); });
  EXPECT_EQ(error.kind(), ErrorKind::Input);
  EXPECT_NE(std::string(error.what()).find("the plan was made for another model"), std::string::npos) << error.what();
  EXPECT_FALSE(std::filesystem::exists(other / "converted.onnx"));
}

TEST(Convert, ReplacesTheModelItReadsAndNoOtherNameOfIt) {
  const NetFiles files;
  const std::string before = bytes_of(files.model_file());
  QuantizeOptions options = files.quantize_options({Format::Int8});
  options.output = files / "link.onnx";
  std::filesystem::create_hard_link(files.model_file(), options.output);
  options.model = options.output;
  quantize(options);
  EXPECT_NE(bytes_of(options.output), before);
  EXPECT_EQ(bytes_of(files.model_file()), before);
}

TEST(Convert, RefusesNoPrecisionAtAll) {
  const NetFiles files;
  EXPECT_EQ(error_of([&] { quantize(files.quantize_options({})); }).kind(), ErrorKind::Usage);
}

}  // namespace
}  // namespace vernier::testing
