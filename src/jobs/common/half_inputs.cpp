#include "jobs/common/half_inputs.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/float_codes.h"
#include "jobs/common/sources.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

Tensor rounded(const Tensor& values, Dtype to) {
  Tensor made(to, values.shape());
  auto* const codes = reinterpret_cast<std::uint16_t*>(made.mutable_bytes().data());
  const std::span<const float> from = values.floats();
  for (std::size_t i = 0; i < from.size(); ++i) {
    codes[i] = to == Dtype::Float16 ? float16_bits(static_cast<double>(from[i])) : bfloat16_bits(from[i]);
  }
  return made;
}

class RoundedSamples : public SampleSource {
 public:
  RoundedSamples(std::shared_ptr<const SampleSource> given, std::map<std::string, Dtype> halves)
      : given_(std::move(given)), halves_(std::move(halves)) {}

  std::size_t size() const override { return given_->size(); }
  std::string description() const override { return given_->description(); }
  bool is_random() const override { return given_->is_random(); }
  bool reads_images() const override { return given_->reads_images(); }
  std::vector<std::string> skipped_images() const override { return given_->skipped_images(); }
  Sample at(std::size_t index) const override {
    Sample sample = given_->at(index);
    for (const auto& [name, type] : halves_) sample.at(name) = rounded(sample.at(name), type);
    return sample;
  }

 private:
  std::shared_ptr<const SampleSource> given_;
  std::map<std::string, Dtype> halves_;  // inputs of these types
};

}  // namespace

std::shared_ptr<const SampleSource> samples_for_halves(const Model& model, const SourceOptions& source,
                                                       const JobSinks& sinks) {
  Model wide = model;
  std::map<std::string, Dtype> halves;
  for (onnx::ValueInfoProto& input : *wide.proto.mutable_graph()->mutable_input()) {
    onnx::TypeProto& type = *input.mutable_type();
    if (!type.has_tensor_type()) continue;
    const auto held = static_cast<Dtype>(type.tensor_type().elem_type());
    if (held != Dtype::Float16 && held != Dtype::BFloat16) continue;
    halves.emplace(input.name(), held);
    type.mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  if (halves.empty()) return samples_for(model, source, sinks);
  return std::make_shared<RoundedSamples>(samples_for(wide, source, sinks), std::move(halves));
}

}  // namespace vernier
