#include "jobs/reduce/whole_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "engines/onnxruntime/custom_types.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/peer_samples.h"
#include "jobs/common/sources.h"
#include "jobs/common/static_types.h"
#include "model/checker.h"
#include "model/passes/pass.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

WholeModel::WholeModel(const ReduceOptions& options, const JobSinks& sinks, Warn warn)
    : options_(options),
      sinks_(sinks),
      warn_(std::move(warn)),
      runtime_(Runtime::load(options.measure.custom_operators, options.measure.device, options.measure.gpu_memory)),
      model_(missing_.read(options.model, options.measure.external_data_dir)) {
  learn_custom_types(*runtime_, model_);
  override_input_shapes(model_, options_.input_shapes, "‹model-input-shapes›");
  unfolded_ = model_;
  passes::constants_to_initializers(model_, {{}, evaluator(runtime_), default_opset(model_.proto)});
  if (model_.proto.graph().node_size() == 0) unfold();
  if (model_.proto.graph().node_size() == 0) {
    throw Error(ErrorCode::NotMeasurable, fmt::format("{}: no node to reduce", options_.model.name()));
  }
  if (!loads(model_, &load_failure_)) {
    checked_ = !checker_complaint(model_).has_value();
    warn_({"model-does-not-load", {{"checked", checked_}, {"why", load_failure_}}});
  }
}

bool WholeModel::unfold() {
  if (!unfolded_ || unfolded_->proto.graph().node_size() == model_.proto.graph().node_size()) return false;
  model_ = *std::move(unfolded_);
  unfolded_.reset();
  values_.reset();
  return true;
}

std::string WholeModel::fault_of(const Model& part) const {
  std::string why;
  if (loads()) {
    loads(part, &why);
  } else if (checked_) {
    why = checker_complaint(part).value_or("");
  }
  return why;
}

bool WholeModel::loads(const Model& model, std::string* why) const {
  try {
    const Session session(runtime_, model, {.optimize = false});
    return true;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Internal || error.kind() == ErrorKind::Interrupted) throw;
    *why = error.what();
    return false;
  }
}

TensorValues& WholeModel::values() {
  if (values_) return *values_;
  SourceOptions source = like_the_peer(options_.measure.data);
  if (source.is_random()) {
    for (const InputInfo& input : model_inputs(model_)) {
      if (!source.shapes.contains(input.name) && options_.input_shapes.contains(input.name)) {
        source.shapes[input.name] = options_.input_shapes.at(input.name).sizes;
      }
    }
  }
  samples_ = samples_for(model_, source, sinks_);
  if (samples_->is_random()) {
    warn_({"random-inputs-frozen", {}});
  }
  values_.emplace(runtime_, model_, *samples_);
  return *values_;
}

std::map<std::string, onnx::TypeProto> WholeModel::types() {
  std::map<std::string, onnx::TypeProto> known = static_types(model_, [this] { return runtime_; });
  std::vector<std::string> all;
  for (const onnx::NodeProto& node : model_.proto.graph().node()) {
    all.insert(all.end(), node.output().begin(), node.output().end());
  }
  const bool complete = std::all_of(all.begin(), all.end(),
                                    [&](const std::string& name) { return name.empty() || known.contains(name); });
  if (!complete && loads()) values().learn_types(all, known);
  return known;
}

std::map<std::string, Tensor> WholeModel::frozen_values(const std::vector<std::string>& names) {
  if (!loads()) return {};
  try {
    return values().of(names, 1).front();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
    warn_({"no-values-to-freeze", {{"error", error.what()}}});
    return {};
  }
}

}  // namespace vernier
