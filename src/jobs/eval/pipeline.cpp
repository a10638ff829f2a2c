// `vernier pipeline`: stages compared with the one before and with the first.

#include "vernier/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <set>

#include "base/file.h"
#include "base/machine.h"
#include "base/parallel.h"
#include "base/text.h"
#include "base/version.h"
#include "engines/onnxruntime/runtime.h"
#include "io/split_run.h"
#include "jobs/common/output_files.h"
#include "jobs/common/sources.h"
#include "jobs/common/stopwatch.h"
#include "jobs/common/typed_file.h"
#include "jobs/data/output_diffs.h"
#include "jobs/eval/output_readings.h"
#include "jobs/eval/task_tally.h"
#include "jobs/run/live_run.h"
#include "model/raw_proto.h"
#include "plan/simulate_typed.h"
#include "report/text/pipeline_answer.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/figures.h"
#include "vernier/report/pipeline.h"
#include "vernier/run.h"
#include "vernier/runs.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

bool is_saved(const fs::path& file) {
  const std::string extension = lower_case(file.extension().string());
  return extension == ".npz" || extension == ".json" || extension == ".pkl" || fs::is_directory(file);
}

/// "int8 and float32": what layers of the file compute in, the lowest first.
std::vector<Format> low_formats(const Model& model) {
  std::set<Format> formats;
  for (const PlannedLayer& layer : simulate_typed(model).layers) {
    if (layer.format != Format::Float32) formats.insert(layer.format);
  }
  return {formats.begin(), formats.end()};
}

class Pipeline {
 public:
  Pipeline(const PipelineOptions& options, const JobSinks& sinks) : options_(options), sinks_(sinks) {}

  PipelineReport run() {
    Stopwatch watch(phases_);
    watch.phase("pipeline");
    if (options_.stages.size() < 2) {
      throw Error(ErrorCode::MissingArgument, "a pipeline has two stages or more",
                  "‹vernier pipeline --stage float:model.onnx --stage int8:quantized.onnx --data samples.npz›");
    }
    require_different_names();
    report_.command = options_.command;
    report_.min_sqnr_db = options_.min_sqnr_db;
    report_.vernier_version = vernier_version();
    report_.onnx_version = onnx_version();
    report_.machine = machine_text();
    keep_inputs_safe();
    const OutputFolder folder(options_.output);
    open();
    const std::size_t threads = sequence_                       ? 1
                                : options_.measure.threads == 0 ? usable_cores()
                                                                : options_.measure.threads;
    for (std::size_t i = 1; i < runs_.size(); ++i) {
      StageReport& stage = report_.stages[i];
      const OutputDiffs step = diff(i - 1, i, threads);
      stage.not_compared = step.not_compared;
      const DiffRow& worst = *std::min_element(step.rows.begin(), step.rows.end(),
                                               [](const DiffRow& a, const DiffRow& b) { return sqnr(a) < sqnr(b); });
      stage.step_db = sqnr(worst);
      stage.worst_output = worst.name;
      if (worst.broken == worst.broken_reference) stage.not_finite_before = worst.broken_reference;
      const OutputDiffs total = i == 1 ? step : diff(0, i, threads);
      stage.total_db = std::numeric_limits<double>::infinity();
      stage.max_abs = 0;
      for (const DiffRow& row : total.rows) {
        stage.total_db = std::min(*stage.total_db, sqnr(row));
        stage.max_abs =
            std::max(*stage.max_abs, row.broken > 0 ? std::numeric_limits<double>::infinity() : row.max_abs);
      }
      if (!report_.lost_at && *stage.step_db < options_.min_sqnr_db) report_.lost_at = stage.name;
    }
    if (options_.task) figures();
    report_.answer = pipeline_answer(report_);
    report_.next = pipeline_commands(report_, options_.data_words);
    watch.stop();
    report_.seconds = phases_.front().seconds;
    write();
    return std::move(report_);
  }

 private:
  void require_different_names() const {
    std::set<std::string> names;
    for (const Stage& stage : options_.stages) {
      if (!names.insert(stage.name).second) {
        throw Error(ErrorCode::UnknownName, fmt::format("two stages are called '{}'", printable(stage.name)));
      }
    }
  }

  void keep_inputs_safe() const {
    if (options_.output.empty()) return;
    std::vector<fs::path> inputs = source_files(options_.measure);
    for (const Stage& stage : options_.stages) inputs.push_back(stage.file);
    if (options_.task) inputs.push_back(options_.task->labels.file());
    for (const char* file : {"report.json", "report.html"}) refuse_to_overwrite(options_.output / file, inputs);
  }

  void write() {
    if (options_.output.empty()) return;
    const fs::path json = options_.output / "report.json", page = options_.output / "report.html";
    report_.files = {{"report", json.string()}, {"page", page.string()}};
    replace_file(json, report_to_json(report_));
    replace_file(page, report_to_html(report_));
  }

  /// Values that broke count as an error without bounds.
  static double sqnr(const DiffRow& row) {
    return row.broken > 0 || std::isnan(row.sqnr_db) ? -std::numeric_limits<double>::infinity() : row.sqnr_db;
  }

  void open() {
    run_.measure = options_.measure;
    run_.onnx_outputs.names = options_.measure.outputs;
    run_.engine = options_.engine;
    const auto warn = [&](const Note& note) {
      if (std::ranges::find(report_.warnings, note) != report_.warnings.end()) return;
      report_.warnings.push_back(note);
      sinks_.warn(note);
    };
    Sources sources(run_.measure, sinks_);
    for (const Stage& stage : options_.stages) {
      const bool saved = is_saved(stage.file), built = !saved && is_built_engine(stage.file);
      if (built && stage.on != MeasureOn::TensorRt) {
        throw Error(ErrorCode::NotAModel,
                    fmt::format("stage '{}': {} is a TensorRT engine, which is not simulated", printable(stage.name),
                                printable(stage.file.string())),
                    fmt::format("pass {0}:{1}@tensorrt on a machine with TensorRT; or save its outputs (polygraphy run "
                                "--save-outputs out.json), and pass that file",
                                printable(stage.name), printable(stage.file.string())));
      }
      if (saved && stage.on) {
        throw Error(ErrorCode::WithoutEffect,
                    fmt::format("stage '{}': saved outputs run on no engine", printable(stage.name)));
      }
      StageReport& said = report_.stages.emplace_back();
      said.name = stage.name;
      said.file = stage.file.string();
      if (saved) {
        runs_.push_back(std::move(open_runs(stage.file).back()));  // the last of a file, as everywhere
      } else {
        open_model(stage, built, sources, warn);
      }
    }
    split_stacks();
    report_.samples = runs_.front()->size();
  }

  /// What a framework saved in one go is as many samples as the other stages have.
  void split_stacks() {
    const Run& most =
        **std::ranges::max_element(runs_, {}, [](const std::unique_ptr<Run>& run) { return run->size(); });
    if (most.size() < 2) return;
    std::optional<Iteration> like;  // a model runs for it
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      if (runs_[i]->size() != 1) continue;
      if (!like) like = most.at(0);
      std::unique_ptr<Run> split = split_run(*runs_[i], most.size(), *like);
      if (!split) continue;
      runs_[i] = std::move(split);
      report_.stages[i].kind = StageKind::SavedRows;
    }
  }

  void open_model(const Stage& stage, bool built, Sources& sources, const Warn& warn) {
    StageReport& said = report_.stages.back();
    report_.onnxruntime_version = sources.runtime()->version();
    RunnerOptions runner;
    runner.kind = runner_kind(stage.on);
    runner.use = EngineUse::Always;
    runner.device = options_.engine.device;
    runner.model = stage.file;
    run_.runners.push_back(runner);
    said.kind = built ? StageKind::Engine : StageKind::Model;
    if (!built) said.formats = low_formats(*sources.model(stage.file));
    if (inputs_.empty() && !built) inputs_ = model_inputs(*sources.model(stage.file));
    std::unique_ptr<EngineRunner> engine = engine_of(run_, runner, sinks_, warn);
    if (stage.on) {
      said.on = word_of(*stage.on);
      said.engine = engine ? engine->text() : "ONNX Runtime " + report_.onnxruntime_version;
    }
    auto live = make_live_run(run_, run_.runners.size() - 1, stage.name, sources, warn, std::move(engine));
    report_.data = live->samples().description();
    sequence_ = sequence_ || live->is_sequence();
    if (live_ == nullptr) live_ = live.get();
    runs_.push_back(std::move(live));
  }

  OutputDiffs diff(std::size_t before, std::size_t after, std::size_t threads) const {
    return diff_runs(*runs_[before], *runs_[after], options_.stages[before].name, options_.stages[after].name, threads,
                     sinks_);
  }

  void figures() {
    if (inputs_.empty()) {
      throw Error(ErrorCode::MissingArgument,
                  "‹task› needs a stage that is an ONNX model: it says what the inputs are");
    }
    const SampleCount samples = count_samples(options_.measure.data, inputs_, report_.samples);
    const std::unique_ptr<OutputReadings> readings = output_readings(*options_.task, inputs_, samples);
    for (std::size_t i = 0; i < runs_.size(); ++i) {
      const std::unique_ptr<TaskTally> tally = make_tally(*options_.task, inputs_, samples);
      for (std::size_t sample = 0; sample < report_.samples; ++sample) {
        std::vector<NamedTensor> outputs = runs_[i]->at(sample).outputs;
        const std::vector<std::string>& wanted = options_.measure.outputs;
        std::erase_if(outputs, [&](const NamedTensor& output) {
          return !wanted.empty() && std::find(wanted.begin(), wanted.end(), output.name) == wanted.end();
        });
        const Sample inputs = live_->samples().at(sample);
        tally->add(sample, inputs, outputs, runs_.front()->at(sample).outputs);
        if (i == 0 && readings && sample < OutputReadings::kMostSamples) readings->add(sample, inputs, outputs);
      }
      report_.stages[i].figures = tally->figures();
    }
    if (!readings) return;
    const OutputVerdict verdict = readings->verdict();
    if (!verdict.better) return;
    report_.warnings.push_back({"stage-outputs-doubtful",
                                {{"stage", report_.stages.front().name},
                                 {"samples", std::min<std::size_t>(report_.samples, OutputReadings::kMostSamples)},
                                 {"answer", verdict.answer}}});
    sinks_.warn(report_.warnings.back());
  }

  const PipelineOptions& options_;
  const JobSinks& sinks_;
  RunOptions run_;
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<InputInfo> inputs_;  // of the first stage that is a model
  const LiveRun* live_ = nullptr;
  bool sequence_ = false;
  PipelineReport report_;
  std::vector<PhaseTime> phases_;
};

}  // namespace

PipelineReport pipeline(const PipelineOptions& options, const JobSinks& sinks) {
  return Pipeline(options, sinks).run();
}

}  // namespace vernier
