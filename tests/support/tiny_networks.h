// Networks of a few layers with seeded weights, samples in memory, and a folder for each test. Nothing here depends on
// the standard library's distributions, so that every machine sees the same numbers.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "analysis/subject.h"
#include "model/model.h"
#include "plan/plan.h"
#include "temp_folder.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/samples.h"
#include "vernier/target.h"
#include "vernier/tensor.h"

namespace vernier::testing {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

/// `text` is a graph in ONNX's own language: name (inputs) => (outputs) <initializers> { nodes }. `weights` become
/// initializers of the main graph.
onnx::ModelProto network(const std::string& text, const NamedTensors& weights = {}, int opset = 17);

/// The same, named and checked as a file would be.
Model model_of(const std::string& text, const NamedTensors& weights = {}, int opset = 17);

/// Values of mean 0 and standard deviation `deviation`, bell-shaped, the same for the same seed everywhere.
Tensor bell(const Shape& shape, std::uint32_t seed, float deviation = 1.0F);

/// The tensor with every value along `axis` at `index` multiplied.
Tensor scaled_slice(const Tensor& tensor, int axis, std::int64_t index, float factor);
Tensor scaled(const Tensor& tensor, float factor);

/// Samples held in memory.
class Samples final : public SampleSource {
 public:
  explicit Samples(std::vector<Sample> samples) : samples_(std::move(samples)) {}
  std::size_t size() const override { return samples_.size(); }
  Sample at(std::size_t index) const override { return samples_.at(index); }
  std::string description() const override { return "memory"; }

 private:
  std::vector<Sample> samples_;
};

/// `count` samples of bell-shaped values for one input; sample i is `growth`^i as large as the first.
Samples bell_samples(const std::string& input, const Shape& shape, std::size_t count, float growth = 1.0F);

/// A subject that runs on one thread without optimizations: what bit-identity needs.
Subject subject_of(Model model, const SampleSource& samples, std::vector<Carry> carries = {});

/// All layers that can take it in one format, calibrated on the subject's own samples.
Plan plan_all(const Subject& subject, Format format, Target target = Target::TensorRt);
/// The same with only `layers` low.
Plan plan_only(const Subject& subject, Format format, const std::vector<std::string>& layers,
               Target target = Target::TensorRt);

/// x[1,3,8,8] -> conv1 relu1 conv2 relu2 conv3 relu3 pool flatten gemm -> y[1,5]. 8 channels everywhere.
inline constexpr const char* kConvNet = R"(
  convnet (float[1,3,8,8] x) => (float[1,5] y) {
    [conv1] c1 = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w1, b1)
    [relu1] r1 = Relu (c1)
    [conv2] c2 = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r1, w2, b2)
    [relu2] r2 = Relu (c2)
    [conv3] c3 = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (r2, w3, b3)
    [relu3] r3 = Relu (c3)
    [pool] p = GlobalAveragePool (r3)
    [flatten] f = Flatten (p)
    [gemm] y = Gemm <transB = 1> (f, w4, b4)
  })";
NamedTensors conv_net_weights();
inline const Shape kConvNetInput{1, 3, 8, 8};

/// A state that is carried: h2 = tanh(x W + h U), y = h2 V.
inline constexpr const char* kRecurrentNet = R"(
  recurrent (float[1,4] x, float[1,6] h) => (float[1,3] y, float[1,6] h2) {
    [input] a = MatMul (x, w)
    [state] b = MatMul (h, u)
    [sum] s = Add (a, b)
    [tanh] h2 = Tanh (s)
    [readout] y = MatMul (h2, v)
  })";
NamedTensors recurrent_net_weights();

/// The sign of the input's sum chooses one of two bodies; the second holds a weight of its own that is large enough to
/// live beside the message.
Model if_net();

const Tensor& tensor_named(const NamedTensors& tensors, std::string_view name);
void replace_tensor(NamedTensors& tensors, const std::string& name, Tensor value);

/// True when shape, type and every bit agree.
bool same_bits(const Tensor& a, const Tensor& b);

/// The Error that `action` throws; fails the test when it throws none.
template <class Action>
Error error_of(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "no Error was thrown";
  return {ErrorKind::Internal, ""};
}

/// The environment variable `name` set to `value` (null: unset) while in scope.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const char* value);
  ~ScopedVariable();
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  std::string name_;
  std::optional<std::string> before_;
};

/// Samples of one input as a .npy file [N, *shape].
void write_npy(const std::filesystem::path& path, const SampleSource& samples, const std::string& input);

}  // namespace vernier::testing
