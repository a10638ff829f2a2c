#include "jobs/search/measured.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <span>
#include <string_view>
#include <utility>

#include "analysis/channel_stats.h"
#include "analysis/known_trials.h"
#include "analysis/pictures.h"
#include "base/hash.h"
#include "base/machine.h"
#include "base/program_stamp.h"
#include "base/version.h"
#include "distributed/ranks.h"
#include "distributed/wire.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/search/measurement_records.h"
#include "model/contents.h"
#include "plan/plan.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr const char* kTrials = "trials";

/// All that figures of one network hang on beside the plan's formats and scales.
std::string identity_of(const Experiment& experiment, const std::string& data_sha256) {
  const Subject& subject = experiment.subject();
  Sha256 hash;
  const auto add = [&](std::string_view text) {
    hash.update(std::as_bytes(std::span(text)));
    hash.update(std::as_bytes(std::span("\n", 1)));
  };
  add(vernier_version());
  add(program_stamp());
  add(subject.runtime->version());
  add(machine_text());
  add(data_sha256);
  add(subject.optimizes() ? "optimized" : "as it stands");
  for (const std::string& output : subject.judged) {
    const auto axis = subject.class_axes.find(output);
    add(output + (axis == subject.class_axes.end() ? "" : " " + std::to_string(axis->second.axis)));
  }
  for (const Carry& carry : subject.carries) add(carry.output + ":" + carry.input);
  Plan rules = experiment.all_low_plan();
  rules.model_file.clear();
  rules.scheme.clear();
  rules.layers.clear();
  rules.tensors.clear();
  add(plan_to_json(rules));
  add(content_sha256(subject.model));
  return hash.hex();
}

}  // namespace

/// The record `name`; measured and added where it is not there. Safe from several threads, which measure side by side.
template <class Result, class Measure>
Result Measured::recorded(const std::string& name, const Measure& measure) {
  if (store_ == nullptr) return measure();
  {
    const std::lock_guard lock(mutex_);
    if (const Message* known = store()->find(name)) {
      Unpacker unpacker(*known);
      saved_seconds_ += unpacker.get<double>();
      Result result;
      records::get(unpacker, result);
      return result;
    }
  }
  const auto start = std::chrono::steady_clock::now();
  Result measured = measure();
  Packer packer;
  packer.put(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  records::put(packer, measured);
  const std::lock_guard lock(mutex_);
  store()->put(name, packer.take());
  return measured;
}

MeasurementStore* Measured::store() {
  if (store_ != nullptr) store_->open(identity_);  // jobs within this one open others
  return store_.get();
}

void Measured::begin(const std::string& data_sha256) {
  if (store_ == nullptr) return;
  identity_ = identity_of(experiment_, data_sha256);
  if (const Message* known = store()->find(kTrials)) {
    Unpacker unpacker(*known);
    records::Trials trials;
    records::get(unpacker, trials);
    experiment_.set_known_trials(std::move(trials));
  }
}

void Measured::keep() {
  if (store_ == nullptr) return;
  Packer packer;
  records::put(packer, experiment_.known_trials());
  Message trials = packer.take();
  const Message* before = store()->find(kTrials);
  if (before == nullptr || *before != trials) store_->put(kTrials, std::move(trials));
  store_->save();
}

std::vector<LayerError> Measured::own_errors() {
  return recorded<std::vector<LayerError>>("own " + low_plan(), [&] {
    return own_error(experiment_.subject(), experiment_.all_low_plan(), experiment_.weights);
  });
}

void Measured::run_all_low(const std::vector<Match>& matches) {
  experiment_.set_all_low(
      recorded<Lockstep>("low " + low_plan(), [&] { return experiment_.lockstep_of_all_low(matches); }));
}

std::vector<LayerError> Measured::own_errors(const Subject& few, bool exact_weights) {
  const char* const kind = exact_weights ? "own with exact weights" : "own";
  return recorded<std::vector<LayerError>>(name_for(kind, few), [&] {
    const std::vector<std::size_t> order = all_samples(few);
    RoundedWeights exact(/*exact=*/true);
    return own_error(few, experiment_.all_low_plan(), exact_weights ? exact : experiment_.weights, &order);
  });
}

std::map<std::string, std::vector<double>> Measured::mean_errors(const Subject& few, const Shapes& shapes) {
  return recorded<std::map<std::string, std::vector<double>>>(name_for("mean errors", few), [&] {
    return vernier::mean_errors(few, experiment_.all_low_plan(), experiment_.weights, shapes, all_samples(few));
  });
}

std::map<std::string, std::vector<float>> Measured::channel_magnitudes(const Subject& few, const Shapes& shapes) {
  return recorded<std::map<std::string, std::vector<float>>>(
      name_for("channels", few), [&] { return vernier::channel_magnitudes(few, shapes, all_samples(few)); });
}

std::vector<LayerPicture> Measured::pictures(const std::vector<std::string>& layers,
                                             const std::vector<std::size_t>& samples) {
  std::string name = "pictures " + low_plan();
  for (const std::size_t sample : samples) name += " " + std::to_string(sample);
  for (const std::string& layer : layers) name += " " + layer;
  return recorded<std::vector<LayerPicture>>(name, [&] {
    return layer_pictures(experiment_.subject(), experiment_.all_low_plan(), experiment_.weights, layers, samples,
                          experiment_.reference.shapes);
  });
}

std::string Measured::name_for(const std::string& what, const Subject& few) {
  return what + " of " + std::to_string(few.samples->size()) + " " + low_plan();
}

std::string Measured::alone_name(const std::string& layer, const std::vector<std::size_t>& samples) const {
  Plan plan;
  plan.layers = {{layer, experiment_.all_low_plan().format_of(layer)}};
  std::string name = "alone " + experiment_.plan_digest(plan);
  for (const std::size_t sample : samples) name += " " + std::to_string(sample);
  return name;
}

std::optional<Measured::Outputs> Measured::alone(const std::string& layer, const std::vector<std::size_t>& samples) {
  if (store_ == nullptr) return std::nullopt;
  const Message* known = store()->find(alone_name(layer, samples));
  if (known == nullptr) return std::nullopt;
  Unpacker unpacker(*known);
  saved_seconds_ += unpacker.get<double>();
  Outputs outputs;
  records::get(unpacker, outputs);
  return outputs;
}

void Measured::add_alone(const std::string& layer, const std::vector<std::size_t>& samples, const Outputs& outputs,
                         double seconds) {
  if (store_ == nullptr) return;
  Packer packer;
  packer.put(seconds);
  records::put(packer, outputs);
  store()->put(alone_name(layer, samples), packer.take());
}

std::shared_ptr<MeasurementStore> store_for(const DiagnoseOptions& options) {
  if (!job_ranks().alone() || !options.measure.custom_operators.empty() || !options.search.golden.empty())
    return nullptr;
  return std::make_shared<MeasurementStore>(options.cache_folder);
}

}  // namespace vernier
