#include "jobs/bench/batched_sample.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

class OneSample final : public SampleSource {
 public:
  explicit OneSample(Sample sample) : sample_(std::move(sample)) {}
  std::size_t size() const override { return 1; }
  Sample at(std::size_t /*index*/) const override { return sample_; }
  std::string description() const override { return "one sample"; }

 private:
  Sample sample_;
};

bool open_batch(const InputInfo& input) { return !input.shape.empty() && input.shape.front() < 0; }

/// Rows of input `name`, sample after sample, until there are `batch`.
Tensor rows_of(const std::string& name, const SampleSource& samples, std::int64_t batch) {
  const Tensor first = samples.at(0).at(name);
  if (first.shape().empty() || first.shape().front() == 0 || dtype_bits(first.dtype()) % 8 != 0) return first;
  Shape shape = first.shape();
  shape.front() = batch;
  std::vector<std::byte> bytes;
  const std::size_t row = first.bytes().size() / static_cast<std::size_t>(first.shape().front());
  const std::size_t wanted = row * static_cast<std::size_t>(batch);
  for (std::size_t index = 0; bytes.size() < wanted; index = (index + 1) % samples.size()) {
    const Tensor next = samples.at(index).at(name);
    if (!std::equal(next.shape().begin() + 1, next.shape().end(), shape.begin() + 1, shape.end())) {
      throw Error(ErrorCode::SampleShape,
                  fmt::format("‹batch› {}: input '{}' is {} in sample 0 and {} in sample {}: they make no batch", batch,
                              printable(name), shape_text(first.shape()), shape_text(next.shape()), index),
                  "‹samples› 1");
    }
    const auto data = next.bytes();
    bytes.insert(bytes.end(), data.begin(),
                 data.begin() + static_cast<std::ptrdiff_t>(std::min(data.size(), wanted - bytes.size())));
  }
  const auto kept = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return {first.dtype(), std::move(shape), std::shared_ptr<const std::byte>(kept, kept->data())};
}

}  // namespace

void require_open_batch(const Model& model, std::int64_t batch, const std::string& file) {
  const std::vector<InputInfo> inputs = model_inputs(model);
  if (std::ranges::any_of(inputs, open_batch)) return;
  const auto fixed = std::ranges::find_if(inputs, [](const InputInfo& input) { return !input.shape.empty(); });
  throw Error(ErrorCode::BadValue,
              fixed == inputs.end()
                  ? fmt::format("{}: ‹batch› {}: its inputs have no dimensions", printable(file), batch)
                  : fmt::format("{}: ‹batch› {}: the first dimension of input '{}' is fixed at {}", printable(file),
                                batch, printable(fixed->name), fixed->shape.front()),
              "leave out ‹batch›, or export the model with an open first dimension");
}

Sample batched_sample(const Model& model, const SampleSource& samples, std::int64_t batch) {
  Sample sample = samples.at(0);
  for (const InputInfo& input : model_inputs(model)) {
    if (open_batch(input)) sample[input.name] = rows_of(input.name, samples, batch);
  }
  return sample;
}

std::int64_t batch_of(const Model& model, const Sample& sample) {
  std::optional<std::int64_t> shared;
  const auto agrees = [&](std::int64_t size) {
    if (!shared) shared = size;
    return *shared == size;
  };
  for (const InputInfo& input : model_inputs(model)) {
    const auto given = sample.find(input.name);
    if (given == sample.end()) return 1;
    const Shape& shape = given->second.shape();
    if (shape.empty() || !agrees(shape.front())) return 1;
  }
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) {
    if (!output.type().tensor_type().has_shape()) continue;
    const auto& shape = output.type().tensor_type().shape();
    if (shape.dim_size() == 0) return 1;
    if (shape.dim(0).has_dim_value() && !agrees(shape.dim(0).dim_value())) return 1;
  }
  return std::max<std::int64_t>(shared.value_or(1), 1);
}

std::unique_ptr<SampleSource> source_of(Sample sample) { return std::make_unique<OneSample>(std::move(sample)); }

}  // namespace vernier
