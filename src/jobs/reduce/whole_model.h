// The model that is reduced, and the values inside it.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analysis/tensor_values.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/missing_weights.h"
#include "model/model.h"
#include "model/type_protos.h"
#include "vernier/reduce.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {

class WholeModel {
 public:
  /// Reads options.model. `options` and `sinks` must outlive it. `warn` gets what the user should know, perhaps more
  /// than once. Errors: Input, also for a model without nodes.
  WholeModel(const ReduceOptions& options, const JobSinks& sinks, Warn warn);

  /// Without nodes that are constants only, until unfold().
  const Model& model() const { return model_; }
  /// A model of its nodes as it is written: weights that the file lacks are no inputs.
  Model as_written(Model model) const {
    missing_.put_back(model);
    return model;
  }
  const std::shared_ptr<const Runtime>& runtime() const { return runtime_; }

  /// Takes the model as the file has it; false where that is the same. What was got from here before is gone.
  bool unfold();

  /// False: ONNX Runtime does not load the model itself; there are no values then.
  bool loads() const { return load_failure_.empty(); }
  /// What is wrong with a part of the model and not with the whole: ONNX Runtime, or else ONNX's checker, accepts the
  /// whole and refuses the part. Empty: nothing.
  std::string fault_of(const Model& part) const;

  /// The values on the samples, which are opened when the first is asked for: many reductions need none.
  TensorValues& values();

  /// The type of every tensor, learned by running the model where inference does not know it.
  std::map<std::string, onnx::TypeProto> types();

  /// Values on the first sample. Empty where there are none; that is said to `warn`.
  std::map<std::string, Tensor> frozen_values(const std::vector<std::string>& names);

 private:
  /// `why` gets ONNX Runtime's reason where it does not load `model`.
  bool loads(const Model& model, std::string* why) const;

  const ReduceOptions& options_;
  const JobSinks& sinks_;
  Warn warn_;
  std::shared_ptr<const Runtime> runtime_;
  MissingWeights missing_;
  Model model_;
  std::optional<Model> unfolded_;
  std::string load_failure_;  // empty: ONNX Runtime loads the model
  bool checked_ = true;       // ONNX's checker accepts it
  std::shared_ptr<const SampleSource> samples_;
  std::optional<TensorValues> values_;
};

}  // namespace vernier
