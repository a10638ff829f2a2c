#include "jobs/bench/make_candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/bench/batched_sample.h"
#include "jobs/common/load.h"
#include "jobs/common/model_file.h"
#include "jobs/common/sources.h"
#include "jobs/common/typed_file.h"
#include "jobs/run/live_run.h"
#include "jobs/run/planned_network.h"
#include "jobs/run/scripted_runners.h"
#include "model/raw_proto.h"
#include "plan/lower_typed.h"
#include "plan/simulate_typed.h"
#include "plan/typed_names.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/report/note_text.h"

namespace vernier {
namespace {

const char* word_for(RunnerKind kind) {
  switch (kind) {
    case RunnerKind::OnnxRuntime:
      return "onnxrt";
    case RunnerKind::TensorRt:
      return "trt";
    case RunnerKind::OpenVino:
      return "openvino";
    case RunnerKind::Simulated:
    case RunnerKind::Program:
      break;
  }
  throw Error(ErrorCode::WithoutEffect,
              "a simulation, or a program that starts for each sample, has no speed worth telling",
              "‹onnxrt›, ‹trt› or ‹openvino›");
}

std::string low_formats(const PrecisionOptions& precision) {
  std::string text;
  for (const Format format : precision.low) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", format_name(format));
  }
  return text.empty() ? "as scripts or options say" : text;
}

class CandidateMaker {
 public:
  CandidateMaker(const BenchOptions& options, const JobSinks& sinks, BenchReport& report)
      : options_(options), sinks_(sinks), report_(report) {
    run_.runners = options.runners;
    run_.measure = options.measure;
    run_.engine = options.engine;
    for (RunnerOptions& runner : run_.runners) {
      word_for(runner.kind);
      runner.use = EngineUse::Always;
    }
  }

  std::vector<std::unique_ptr<Candidate>> make() {
    check_exports();
    const std::vector<ScriptedModel> scripted = run_model_scripts(run_, sinks_);
    Sources sources(run_.measure, sinks_);
    sources_ = &sources;
    std::vector<std::int64_t> batches = options_.batches;
    if (batches.empty()) batches = {0};  // as the samples have it
    std::vector<std::unique_ptr<Candidate>> candidates;
    for (const std::int64_t batch : batches) {
      for (std::size_t i = 0; i < run_.runners.size(); ++i) {
        if (sinks_.is_interrupted()) throw Error(ErrorKind::Interrupted, "interrupted");
        candidates.push_back(candidate(i, batch));
      }
    }
    return candidates;
  }

 private:
  void check_exports() const {
    const auto on_engine = std::ranges::count(options_.runners, RunnerKind::TensorRt, &RunnerOptions::kind);
    const bool several = on_engine > 1 || options_.batches.size() > 1;
    if (!options_.engine.save_engine.empty() && several) {
      throw Error(ErrorCode::WithoutEffect, "‹save-engine›: several engines are built, and one file was named",
                  "one model, one batch and one ‹trt›");
    }
    if (options_.cuda_graph && on_engine == 0) {
      throw Error(ErrorCode::WithoutEffect, "‹use-cuda-graph›: only TensorRT's engines are launched as CUDA graphs",
                  "add ‹trt›");
    }
  }

  void warn(const Note& note) {
    if (std::ranges::find(report_.warnings, note) != report_.warnings.end()) return;
    report_.warnings.push_back(note);
    sinks_.warn(note);
  }

  void say(const std::string& text) const {
    if (sinks_.info) sinks_.info(text);
  }

  std::unique_ptr<Candidate> candidate(std::size_t index, std::int64_t batch) {
    const RunnerOptions& runner = run_.runners[index];
    BenchRow row;
    row.model = options_.runners[index].model.name();
    row.runner = word_for(runner.kind);
    if (runner.kind == RunnerKind::OnnxRuntime) return on_onnxruntime(runner, batch, std::move(row));
    RunOptions run = run_;
    if (runner.kind == RunnerKind::OpenVino) {
      row.threads = static_cast<int>(options_.measure.threads);
      if (row.threads > 0) run.engine.settings["threads"] = {std::to_string(row.threads)};
      run.engine.save_engine.clear();
    }
    std::unique_ptr<EngineRunner> engine = engine_of(run, runner, sinks_, [&](const Note& note) { warn(note); });
    row.engine = engine->text();
    row.cuda_graph = options_.cuda_graph && runner.kind == RunnerKind::TensorRt;
    return is_built_engine(runner.model) ? as_it_was_built(runner, batch, std::move(row), std::move(engine))
                                         : on_engine(index, batch, std::move(row), std::move(engine));
  }

  Sample sample_for(const Model& model, std::int64_t batch, BenchRow& row) {
    if (batch > 0) require_open_batch(model, batch, row.model);
    const std::shared_ptr<const SampleSource> samples = sources_->samples(model);
    report_.random_data = samples->is_random();
    report_.data = report_.random_data ? "random numbers" : samples->description();
    Sample sample = batch > 0 ? batched_sample(model, *samples, batch) : samples->at(0);
    row.batch = batch > 0 ? batch : batch_of(model, sample);
    return sample;
  }

  std::unique_ptr<Candidate> on_onnxruntime(const RunnerOptions& runner, std::int64_t batch, BenchRow row) {
    const std::shared_ptr<const Runtime> runtime = Runtime::load();
    Model model = *sources_->model(runner.model);
    row.sha256 = model.sha256;
    SessionOptions session;
    session.integer_kernels = true;
    session.level = options_.optimization;
    session.providers = options_.providers;
    session.threads = static_cast<int>(options_.measure.threads == 0 ? usable_cores() : options_.measure.threads);
    row.threads = session.threads;
    row.engine =
        fmt::format("ONNX Runtime {} on {}", runtime->version(),
                    options_.providers.empty() ? "CPU" : fmt::format("{}", fmt::join(options_.providers, ", ")));
    Sample sample = sample_for(model, batch, row);
    return std::make_unique<SessionCandidate>(std::move(row), runtime, std::move(model), session, std::move(sample));
  }

  /// What the engine gets: a typed file as it is, of another one what `convert` would write.
  const Model& file_for_engine(std::size_t index) {
    const auto known = files_.find(index);
    if (known != files_.end()) return known->second;
    const RunnerOptions& runner = run_.runners[index];
    const Warn warns = [&](const Note& note) {
      if (note.code != kRandomInputs) warn(note);  // times hardly depend on values
    };
    Model file = as_typed_file(*sources_->model(runner.model));
    const SimulatedFile simulated = simulate_typed(file);
    const bool typed = any_low(simulated);
    if (typed && says_formats(runner.precision)) {
      warn({"formats-in-file", {{"model", options_.runners[index].model.name()}}});
    } else if (says_formats(runner.precision)) {
      const PlannedNetwork planned =
          plan_network(runner, run_.measure, *sources_, warns, [&](const std::string& text) { say(text); });
      TypedModel lowered = lower_typed(planned.loaded.subject.model, planned.plan, /*strict=*/false);
      for (const Note& note : lowered.notes) say(note_text(note));
      file = std::move(lowered.model);
      formats_[index] = low_formats(runner.precision);
    }
    restore_tensor_names(file);
    return files_.emplace(index, std::move(file)).first->second;
  }

  std::unique_ptr<Candidate> on_engine(std::size_t index, std::int64_t batch, BenchRow row,
                                       std::unique_ptr<EngineRunner> engine) {
    const Model& original = *sources_->model(run_.runners[index].model);
    row.sha256 = original.sha256;
    Sample sample = sample_for(original, batch, row);
    const Model& file = file_for_engine(index);
    if (const auto formats = formats_.find(index); formats != formats_.end()) row.formats = formats->second;
    row.built = engine->open(file, *source_of(sample));
    row.build_seconds = row.built->seconds;
    for (const Note& note : other_format_notes(row.engine, other_formats(*row.built))) warn(note);
    return std::make_unique<EngineCandidate>(std::move(row), std::move(engine), std::move(sample));
  }

  std::unique_ptr<Candidate> as_it_was_built(const RunnerOptions& runner, std::int64_t batch, BenchRow row,
                                             std::unique_ptr<EngineRunner> engine) {
    if (says_formats(runner.precision)) {
      warn({"formats-in-engine", {{"model", row.model}}});
    }
    Model ports;
    row.built = engine->open_built(ModelFile(runner.model).path(), ports);
    Sample sample = sample_for(ports, batch, row);
    return std::make_unique<EngineCandidate>(std::move(row), std::move(engine), std::move(sample));
  }

  const BenchOptions& options_;
  const JobSinks& sinks_;
  BenchReport& report_;
  RunOptions run_;
  Sources* sources_ = nullptr;
  std::map<std::size_t, Model> files_;  // for engines, by runner
  std::map<std::size_t, std::string> formats_;
};

}  // namespace

std::vector<std::unique_ptr<Candidate>> make_candidates(const BenchOptions& options, const JobSinks& sinks,
                                                        BenchReport& report) {
  return CandidateMaker(options, sinks, report).make();
}

}  // namespace vernier
