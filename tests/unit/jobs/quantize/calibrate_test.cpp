// What a calibration computes: a run of a network reads its sample, so that reads tell runs.
#include "vernier/calibrate.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <vector>

#include "counted_reads.h"
#include "job_files.h"
#include "vernier/calibration.h"
#include "vernier/format.h"
#include "vernier/onnx_model.h"
#include "vernier/report/calibrate.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier::testing {
namespace {

/// Its outputs are pictures, whose channels could be parts; nothing tells whether inputs are read right.
constexpr const char* kPictures = R"(
  g (float[1,3,8,8] x) => (float[1,8,8,8] y) {
    [conv] c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w1, b1)
    [relu] r = Relu (c)
    [conv2] y = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r, w2, b2)
  })";

/// Gives classes, which tell by how sure they are.
constexpr const char* kClasses = R"(
  g (float[1,3,8,8] x) => (float[1,5] y) {
    [conv] c = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w1, b1)
    [relu] r = Relu (c)
    [conv2] d = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r, w2, b2)
    [pool] p = GlobalAveragePool (d)
    [flatten] f = Flatten (p)
    [gemm] g5 = Gemm <transB = 1> (f, w4, b4)
    [soft] y = Softmax (g5)
  })";

std::size_t reads_of(const char* text, std::size_t count, CalibrationMethod method) {
  const auto samples = std::make_shared<const CountedReads>(bell_samples("x", kConvNetInput, count));
  NamedTensors weights = conv_net_weights();
  // An output layer that is sure of one class, whatever it sees.
  for (auto& [name, tensor] : weights) {
    if (name == "b4") tensor = Tensor::of({5}, std::vector<float>{50, 0, 0, 0, 0});
  }
  CalibrateOptions options;
  options.model = OnnxModel::of_bytes(whole_proto(adopt_model(network(text, weights))).SerializeAsString(), "mine");
  options.measure.data.source = samples;
  options.measure.threads = 1;
  options.precision.low = {Format::Int8};
  options.precision.calibration.method = method;
  EXPECT_FALSE(calibrate(options).tensors.empty());
  return samples->reads();
}

TEST(Calibrate, RunsTheNetworkOnceOverItsSamples) {
  constexpr std::size_t kChecked = 6;  // samples that are looked at, to warn of inputs
  for (const std::size_t count : {3U, 20U, 40U}) {
    const std::size_t checked = std::min(kChecked, count);
    const std::size_t ahead = count >= 4 ? 2 : 0;  // one of each half, for the ends of min-max
    for (const char* text : {kPictures, kClasses}) {
      // Without a run: the size of the first sample and, where classes could tell, its layout and what is known of
      // each.
      const std::size_t looked_at = text == kPictures ? checked + 1 : 2 * checked + 2;
      EXPECT_EQ(reads_of(text, count, CalibrationMethod::MinMax), count + ahead + looked_at) << text;
      EXPECT_EQ(reads_of(text, count, CalibrationMethod::Entropy), count + looked_at) << text;
    }
  }
}

}  // namespace
}  // namespace vernier::testing
