#include "jobs/reduce/sim_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>

#include "analysis/lockstep.h"
#include "analysis/own_error.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/load.h"
#include "jobs/verify/on_engine.h"
#include "model/prepare.h"
#include "plan/lower_simulated.h"
#include "plan/lower_typed.h"
#include "plan/scheme.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/precision.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// A model with all that its measurement in low precision needs.
struct Lowered {
  Loaded loaded;
  Plan plan;
  std::vector<std::string> candidates;
};

Lowered lower(const Model& model, const SampleSource& samples, const SimulatedCheck& check,
              const std::shared_ptr<const Runtime>& runtime, std::size_t threads, const JobSinks& sinks) {
  PrecisionOptions precision;
  precision.low = {check.low};
  precision.target = check.target;
  Lowered lowered;
  lowered.loaded.original = std::shared_ptr<const Model>(std::shared_ptr<const Model>(), &model);  // the caller's
  lowered.loaded.samples = std::shared_ptr<const SampleSource>(std::shared_ptr<const SampleSource>(), &samples);
  Subject& subject = lowered.loaded.subject;
  subject.runtime = runtime;
  const PrepareOptions options = preparation_of(precision);
  subject.model = prepare(model, options, evaluator(subject.runtime)).model;
  subject.layers = find_float32_layers(subject.model);
  subject.samples = &samples;
  subject.threads = threads;
  JobSinks only_interrupts;
  only_interrupts.interrupted = sinks.interrupted;
  subject.progress = progress_of(only_interrupts);
  for (const InputInfo& output : model_outputs(subject.model)) {
    if (output.dtype == Dtype::Float32) subject.judged.push_back(output.name);
  }
  if (subject.judged.empty()) throw Error(ErrorCode::NotMeasurable, "it has no float32 output");
  AssignedFormats assigned = assign_formats(subject.model, subject.layers, precision);
  lowered.plan = std::move(assigned.plan);
  lowered.candidates = std::move(assigned.candidates);
  calibrate_on_samples(lowered.plan, subject.model, subject.layers, lowered.loaded, {}, {});
  return lowered;
}

double worst_of(const std::map<std::string, OutputStats>& outputs) {
  double worst = std::numeric_limits<double>::infinity();
  for (const auto& [name, stats] : outputs) {
    const double db = metric_value(Metric::MinSqnrDb, stats);
    // Not a number: one side is not finite.
    worst = std::min(worst, db == db ? db : -std::numeric_limits<double>::infinity());
  }
  return worst;
}

}  // namespace

Trial SimCheck::judge(const Model& part, const SampleSource& samples) {
  if (check_.on && *check_.on != MeasureOn::OnnxRuntime && engine_ == nullptr) {
    engine_ = EngineRunner::require(options_for(*check_.on, check_.engine), sinks_);
  }
  Trial trial;
  try {
    const Lowered lowered = lower(part, samples, check_, runtime_, threads_, sinks_);
    const Subject& subject = lowered.loaded.subject;
    if (check_.on) {
      const Model typed =
          check_.low == Format::Float32 ? subject.model : lower_typed(subject.model, lowered.plan, false).model;
      trial.metric = worst_of(outputs_on_engine(typed, lowered.loaded, engine_, nullptr, sinks_));
    } else {
      RoundedWeights weights;
      const Model low = lower_simulated(subject.model, subject.layers, lowered.plan, weights);
      trial.metric = worst_of(lockstep(subject, low, {}).outputs);
    }
    trial.verdict = trial.metric < check_.min_sqnr_db ? Verdict::Bad : Verdict::Good;
    trial.why = fmt::format("worst output {:.2f} dB", trial.metric);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
    engine_.reset();  // it may be dead
    trial.why = error.what();
  }
  return trial;
}

SimCheck::Guide SimCheck::guide(const Model& whole, const SampleSource& samples) const {
  const Lowered lowered = lower(whole, samples, check_, runtime_, threads_, sinks_);
  const Subject& subject = lowered.loaded.subject;
  RoundedWeights weights;
  const Model low = lower_simulated(subject.model, subject.layers, lowered.plan, weights);
  const std::vector<Match> matches = match_layer_outputs(subject);
  const Lockstep run = lockstep(subject, low, matches);
  Guide guide;
  guide.worst_db = worst_of(run.outputs);
  if (guide.worst_db >= check_.min_sqnr_db && !check_.on) return guide;
  std::map<std::string, double> arrived;
  for (std::size_t i = 0; i < matches.size(); ++i) {
    if (run.errors[i].count > 0) arrived[matches[i].ref] = sqnr_db(run.errors[i]);
  }
  std::map<std::string, double> own;
  for (const LayerError& error : own_error(subject, lowered.plan, weights)) {
    if (error.error.count > 0) own[error.layer] = sqnr_db(error.error);
  }
  for (const Layer& layer : subject.layers) {
    Guide::Row row{layer.name, layer.outputs, std::numeric_limits<double>::infinity(),
                   std::numeric_limits<double>::infinity()};
    for (const std::string& output : layer.outputs) {
      if (const auto found = arrived.find(output); found != arrived.end()) {
        row.arrived_db = std::min(row.arrived_db, found->second);
      }
    }
    if (const auto found = own.find(layer.name); found != own.end()) row.own_db = found->second;
    guide.rows.push_back(std::move(row));
  }
  return guide;
}

}  // namespace vernier
