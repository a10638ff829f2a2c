// A good network and twins of it with one fault each, that compute the same in float32 up to its last bits.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "tiny_networks.h"
#include "vernier/diagnose.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier::testing {

/// Five 3x3 convolutions of 8 channels with Relus between, a pooling and a Gemm: conv1 .. conv5, gemm.
inline constexpr const char* kDeepNet = R"(
  deep (float[1,3,8,8] x) => (float[1,5] y) {
    [conv1] c1 = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w1, b1)
    [relu1] r1 = Relu (c1)
    [conv2] c2 = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r1, w2, b2)
    [relu2] r2 = Relu (c2)
    [conv3] c3 = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r2, w3, b3)
    [relu3] r3 = Relu (c3)
    [conv4] c4 = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r3, w4, b4)
    [relu4] r4 = Relu (c4)
    [conv5] c5 = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r4, w5, b5)
    [relu5] r5 = Relu (c5)
    [pool] p = GlobalAveragePool (r5)
    [flatten] f = Flatten (p)
    [gemm] y = Gemm <transB = 1> (f, w6, b6)
  })";

inline NamedTensors deep_net_weights() {
  NamedTensors weights{
      {"w1", bell({8, 3, 3, 3}, 41, 0.27F)}, {"w6", bell({5, 8}, 46, 0.5F)}, {"b6", bell({5}, 56, 0.1F)}};
  for (std::uint32_t i = 2; i <= 5; ++i)
    weights.emplace_back("w" + std::to_string(i), bell({8, 8, 3, 3}, 40 + i, 0.167F));
  for (std::uint32_t i = 1; i <= 5; ++i) weights.emplace_back("b" + std::to_string(i), bell({8}, 50 + i, 0.1F));
  return weights;
}

/// Output channel `channel` of convolution `at` becomes `factor` times as large, and the next convolution reads it
/// that much smaller: a Relu lets the factor through.
inline void move_scale(NamedTensors& weights, int at, std::int64_t channel, float factor) {
  const std::string w = "w" + std::to_string(at);
  const std::string b = "b" + std::to_string(at);
  const std::string next = "w" + std::to_string(at + 1);
  replace_tensor(weights, w, scaled_slice(tensor_named(weights, w), 0, channel, factor));
  replace_tensor(weights, b, scaled_slice(tensor_named(weights, b), 0, channel, factor));
  replace_tensor(weights, next, scaled_slice(tensor_named(weights, next), 1, channel, 1 / factor));
}

/// Diagnoses `model` on 16 samples of its input `x`, at least `min_sqnr_db`.
inline DiagnoseReport diagnose_net(const TempFolder& folder, const onnx::ModelProto& model, const Shape& input,
                                   Format low, double min_sqnr_db) {
  write_model(adopt_model(model), folder / "net.onnx");
  write_npy(folder / "x.npy", bell_samples("x", input, 16), "x");
  DiagnoseOptions options;
  options.model = folder / "net.onnx";
  options.output = folder / "out";
  options.measure.data.location = (folder / "x.npy").string();
  options.measure.requirement = Requirement{Metric::MinSqnrDb, {{min_sqnr_db, ""}}};
  options.measure.threads = 1;
  options.precision.low = {low};
  options.latency = false;
  return diagnose(options);
}

using Names = std::vector<std::string>;

inline Names kept_layers(const DiagnoseReport& report) {
  Names names = report.kept.value().layers;
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace vernier::testing
