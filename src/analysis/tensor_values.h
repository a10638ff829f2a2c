// What tensors inside a model hold on real samples.
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engines/onnxruntime/runtime.h"
#include "model/model.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

class TensorValues {
 public:
  /// All must outlive it.
  TensorValues(std::shared_ptr<const Runtime> runtime, const Model& model, const SampleSource& samples)
      : runtime_(std::move(runtime)), model_(model), samples_(samples) {}

  /// The values of tensors of the main graph, graph inputs among them, for the first `count` samples: one run of the
  /// part of the model that makes those not asked for in the call before. Memory: what the last call asked for.
  /// Errors: Input, Backend: the model does not run on a sample.
  std::vector<Sample> of(const std::vector<std::string>& names, std::size_t count);

  /// Adds to `types` (type_protos.h) the element types of those of `names` that it lacks, as the first sample shows
  /// them, with a shape of that rank: inference knows nothing behind operators that ONNX does not have. What does not
  /// run or is no tensor stays unknown. Errors: Interrupted.
  void learn_types(const std::vector<std::string>& names, std::map<std::string, onnx::TypeProto>& types);

  const SampleSource& samples() const { return samples_; }

 private:
  std::shared_ptr<const Runtime> runtime_;
  const Model& model_;
  const SampleSource& samples_;
  std::map<std::string, std::vector<Tensor>> known_;
};

}  // namespace vernier
