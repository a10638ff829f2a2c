// Causes from what is measured of networks: facts that only a run can give.
#include <algorithm>

#include "flow_files.h"
#include "vernier/causes.h"

namespace vernier::testing {
namespace {

/// What is named at `layer`, asked for more than the format gives.
std::vector<std::string> named_at(const NetFiles& files, const std::string& layer, Format low,
                                  const std::string& target = "tensorrt") {
  DiagnoseOptions options = files.diagnose_options({low});
  options.measure.requirement = at_least_db(70);
  options.precision.target = target;
  std::vector<std::string> ids;
  const DiagnoseReport report = diagnose(options);
  for (const Cause& cause : report.explanation.value().causes) {
    if (cause.layer == layer) ids.push_back(cause.id);
  }
  return ids;
}

bool names(const std::vector<std::string>& ids, const std::string& id) {
  return std::ranges::find(ids, id) != ids.end();
}

TEST(Explain, SamplesOfVeryDifferentSizeShareOneRange) {
  for (const float growth : {1.0F, 4.0F}) {
    const NetFiles files;
    write_npy(files.data_file(), bell_samples("x", kConvNetInput, 8, growth), "x");
    EXPECT_EQ(names(named_at(files, "conv1", Format::Int8), "range-per-sample"), growth > 1);
  }
}

/// A convolution that a BatchNormalization and something else read, so that they cannot become one.
NetFiles norm_behind(float spread) {
  const std::vector<float> variance{spread * spread, 1, 1, 1};
  NamedTensors weights{{"w", scaled_slice(bell({4, 3, 3, 3}, 1, 0.2F), 0, 0, spread)},
                       {"b", scaled(bell({4}, 2), 0)},
                       {"gain", Tensor::of({4}, std::vector<float>{1, 1, 1, 1})},
                       {"shift", scaled(bell({4}, 3), 0)},
                       {"mean", scaled(bell({4}, 3), 0)},
                       {"variance", Tensor::of({4}, variance)}};
  return NetFiles(
      network("net (float[1,3,8,8] x) => (float[1,4,8,8] y, float[1,4,8,8] z) {"
              " [conv] c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w, b)\n"
              " [norm] y = BatchNormalization(c, gain, shift, mean, variance)\n [other] z = Tanh(c) }",
              weights));
}

TEST(Explain, ABatchNormalizationBehindCodes) {
  EXPECT_TRUE(names(named_at(norm_behind(30), "conv", Format::Int8, "onnxruntime"), "unfolded-batch-norm"));
  EXPECT_FALSE(names(named_at(norm_behind(2), "conv", Format::Int8, "onnxruntime"), "unfolded-batch-norm"));
  EXPECT_FALSE(names(named_at(norm_behind(30), "conv", Format::Int8, "tensorrt"), "unfolded-batch-norm"))
      << "TensorRT's convolution gives float";
}

TEST(Explain, PairsOfLargeWeightsBeyond16Bits) {
  Tensor alike(Dtype::Float32, {16, 16});
  for (std::size_t i = 0; i < 256; ++i) alike.mutable_floats()[i] = i / 16 / 2 % 2 == 0 ? 1.0F : -1.0F;
  const std::string text = "net (float[4,16] x) => (float[4,16] y) { [abs] a = Abs(x)\n [mm] y = MatMul(a, w) }";
  const NetFiles large(network(text, {{"w", alike}}), {4, 16});
  EXPECT_TRUE(names(named_at(large, "mm", Format::Int8, "onnxruntime"), "pair-saturation"));
  EXPECT_FALSE(names(named_at(large, "mm", Format::Int8, "openvino"), "pair-saturation")) << "another engine";
  const NetFiles ordinary(network("net (float[4,64] x) => (float[4,16] y) { [abs] a = Abs(x)\n [mm] y = MatMul(a, w) }",
                                  {{"w", bell({64, 16}, 1)}}),
                          {4, 64});
  EXPECT_FALSE(names(named_at(ordinary, "mm", Format::Int8, "onnxruntime"), "pair-saturation"));
}

}  // namespace
}  // namespace vernier::testing
