#include "tiny_networks.h"

#include <onnx/defs/parser.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <random>
#include <set>
#include <span>
#include <stdexcept>
#include <string_view>

#include "analysis/reference.h"
#include "engines/onnxruntime/runtime.h"
#include "plan/calibrate.h"
#include "plan/scheme.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/tensor.h"

namespace vernier::testing {

onnx::ModelProto network(const std::string& text, const NamedTensors& weights, int opset) {
  onnx::ModelProto proto;
  const std::string header = "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n";
  const auto status = onnx::OnnxParser::Parse(proto, (header + text).c_str());
  if (!status.IsOK()) throw std::runtime_error("the test's own model: " + status.ErrorMessage());
  for (const auto& [name, tensor] : weights) *proto.mutable_graph()->add_initializer() = proto_of(tensor, name);
  return proto;
}

Model model_of(const std::string& text, const NamedTensors& weights, int opset) {
  return adopt_model(network(text, weights, opset));
}

Tensor bell(const Shape& shape, std::uint32_t seed, float deviation) {
  std::mt19937 random(seed);
  Tensor tensor(Dtype::Float32, shape);
  for (float& value : tensor.mutable_floats()) {
    // Twelve uniform numbers have a sum of variance 1.
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(random()) / 4294967296.0;
    value = static_cast<float>(sum) * deviation;
  }
  return tensor;
}

Tensor scaled_slice(const Tensor& tensor, int axis, std::int64_t index, float factor) {
  const Shape& shape = tensor.shape();
  const auto dim = static_cast<std::size_t>(axis);
  std::int64_t inner = 1;
  for (std::size_t i = dim + 1; i < shape.size(); ++i) inner *= shape[i];
  Tensor changed = Tensor::of(shape, tensor.floats());
  const std::span<float> values = changed.mutable_floats();
  for (std::int64_t i = 0; i < changed.count(); ++i) {
    if (i / inner % shape[dim] == index) values[static_cast<std::size_t>(i)] *= factor;
  }
  return changed;
}

Tensor scaled(const Tensor& tensor, float factor) {
  Tensor changed = Tensor::of(tensor.shape(), tensor.floats());
  for (float& value : changed.mutable_floats()) value *= factor;
  return changed;
}

Samples bell_samples(const std::string& input, const Shape& shape, std::size_t count, float growth) {
  std::vector<Sample> samples;
  float size = 1;
  for (std::size_t i = 0; i < count; ++i, size *= growth) {
    samples.push_back({{input, bell(shape, static_cast<std::uint32_t>(1000 + i), size)}});
  }
  return Samples(std::move(samples));
}

Subject subject_of(Model model, const SampleSource& samples, std::vector<Carry> carries) {
  Subject subject;
  subject.runtime = Runtime::load();
  subject.layers = find_layers(model);
  subject.samples = &samples;
  for (const InputInfo& output : model_outputs(model)) {
    const bool state =
        std::any_of(carries.begin(), carries.end(), [&](const Carry& carry) { return carry.output == output.name; });
    if (!state && output.dtype == Dtype::Float32) subject.judged.push_back(output.name);
  }
  subject.model = std::move(model);
  subject.carries = std::move(carries);
  subject.optimize = false;
  return subject;
}

Plan plan_all(const Subject& subject, Format format, Target target) {
  PrecisionOptions precision;
  precision.even_if_slower = true;
  precision.target = target;
  precision.low = {format};
  Plan plan = assign_formats(subject.model, subject.layers, precision).plan;
  const std::set<std::string> observed = tensors_to_calibrate(subject.model, subject.layers, plan);
  calibrate_plan(plan, subject.model, subject.layers, run_reference(subject, observed).ranges);
  return plan;
}

Plan plan_only(const Subject& subject, Format format, const std::vector<std::string>& layers, Target target) {
  Plan plan = plan_all(subject, format, target);
  for (PlannedLayer& layer : plan.layers) {
    if (std::find(layers.begin(), layers.end(), layer.name) == layers.end()) layer.format = Format::Float32;
  }
  return plan;
}

NamedTensors conv_net_weights() {
  // Deviations that keep the size of activations about the same from layer to layer.
  return {{"w1", bell({8, 3, 3, 3}, 1, 0.27F)},  {"b1", bell({8}, 2, 0.1F)},
          {"w2", bell({8, 8, 3, 3}, 3, 0.167F)}, {"b2", bell({8}, 4, 0.1F)},
          {"w3", bell({8, 8, 3, 3}, 5, 0.167F)}, {"b3", bell({8}, 6, 0.1F)},
          {"w4", bell({5, 8}, 7, 0.5F)},         {"b4", bell({5}, 8, 0.1F)}};
}

NamedTensors recurrent_net_weights() {
  return {{"w", bell({4, 6}, 11, 0.5F)}, {"u", bell({6, 6}, 12, 0.4F)}, {"v", bell({6, 3}, 13, 0.5F)}};
}

Model if_net() {
  onnx::ModelProto proto = network(R"(
    choice (float[4,20] x) => (float[4,20] y) <float zero = {0}> {
      [dense] d = MatMul (x, w)
      [total] s = ReduceSum <keepdims = 0> (x)
      [positive] c = Greater (s, zero)
      [choose] m = If (c) <
        then_branch = plain () => (float[4,20] p) { [plain_relu] p = Relu (d) },
        else_branch = dense () => (float[4,20] q) { [body_dense] q = MatMul (d, body_w) }
      >
      [last] y = Add (m, d)
    })",
                                   {{"w", bell({20, 20}, 21, 0.22F)}});
  for (onnx::NodeProto& node : *proto.mutable_graph()->mutable_node()) {
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.name() != "else_branch") continue;
      *attribute.mutable_g()->add_initializer() = proto_of(bell({20, 20}, 22, 0.22F), "body_w");
    }
  }
  return adopt_model(std::move(proto));
}

const Tensor& tensor_named(const NamedTensors& tensors, std::string_view name) {
  for (const auto& [known, tensor] : tensors) {
    if (known == name) return tensor;
  }
  throw std::runtime_error("no tensor " + std::string(name));
}

void replace_tensor(NamedTensors& tensors, const std::string& name, Tensor value) {
  for (auto& [known, tensor] : tensors) {
    if (known == name) tensor = std::move(value);
  }
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::equal(a.bytes().begin(), a.bytes().end(), b.bytes().begin(), b.bytes().end());
}

ScopedVariable::ScopedVariable(const char* name, const char* value) : name_(name) {
  if (const char* before = std::getenv(name)) before_ = before;
  if (value == nullptr) {
    ::unsetenv(name);
  } else {
    ::setenv(name, value, 1);
  }
}

ScopedVariable::~ScopedVariable() {
  if (before_) {
    ::setenv(name_.c_str(), before_->c_str(), 1);
  } else {
    ::unsetenv(name_.c_str());
  }
}

void write_npy(const std::filesystem::path& path, const SampleSource& samples, const std::string& input) {
  const Shape shape = samples.at(0).at(input).shape();
  std::string dims = std::to_string(samples.size()) + ",";
  for (const std::int64_t dim : shape) dims += std::to_string(dim) + ",";
  std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + dims + "), }";
  header.resize((header.size() + 11 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::ofstream file(path, std::ios::binary);
  file << "\x93NUMPY" << '\x01' << '\x00' << static_cast<char>(header.size() % 256)
       << static_cast<char>(header.size() / 256) << header;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const Tensor tensor = samples.at(i).at(input);
    file.write(reinterpret_cast<const char*>(tensor.bytes().data()), static_cast<std::streamsize>(tensor.byte_size()));
  }
}

}  // namespace vernier::testing
