
#include "vernier/debug_accuracy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "jobs/common/sources.h"
#include "jobs/data/output_diffs.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/run/live_run.h"
#include "jobs/scripting/network_scripts.h"
#include "model/layers.h"
#include "model/operator_traits.h"
#include "model/prepare.h"
#include "plan/scheme.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/run.h"
#include "vernier/runs.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

constexpr double kOwnDb = 3;  // a layer that doubles the noise power adds as much as arrives

struct Graph {
  std::vector<Layer> layers;
  std::set<std::string> outputs;
};

/// Under the names that a runner of these formats gives tensors.
Graph graph_of(const RunnerOptions& runner, Sources& sources) {
  const PrepareOptions options = preparation_of(runner.precision);
  const Model& model = sources.prepared(runner.model, options)->model;
  Graph graph{find_layers(model), {}};
  for (const onnx::ValueInfoProto& output : model.proto.graph().output()) graph.outputs.insert(output.name());
  return graph;
}

/// Whether everything that is computed from `tensor` is among the `good` tensors. Layers that only move or join values
/// are seen through: the figure of a Concat is that of its largest operand, and says nothing of the others. A value
/// that reaches an output like that is not hidden.
bool good_behind(const std::string& tensor, const std::map<std::string, std::vector<const Layer*>>& readers,
                 const std::set<std::string>& outputs, const std::set<std::string>& good) {
  if (outputs.contains(tensor)) return false;
  const auto reading = readers.find(tensor);
  return reading == readers.end() || std::ranges::all_of(reading->second, [&](const Layer* reader) {
           const bool same_values = reader->follows && !reader->traits.any(Trait::Selects);
           return std::ranges::all_of(reader->outputs, [&](const std::string& output) {
             return same_values ? good_behind(output, readers, outputs, good) : good.contains(output);
           });
         });
}

/// From the last layer to the first: what is below the limit, while all that is computed from it, to the end, is not,
/// or is harmless itself. A tensor of more energy may hide an error for a while: that is not harmless.
void find_harmless(std::vector<AccuracyRow>& rows, const Graph& graph) {
  std::map<std::string, std::vector<const Layer*>> readers;
  for (const Layer& layer : graph.layers) {
    for (const std::string& input : layer.inputs) readers[input].push_back(&layer);
  }
  std::set<std::string> good;  // tensors that are, with all that is made of them
  for (auto row = rows.rbegin(); row != rows.rend(); ++row) {
    const std::vector<const Layer*>& reading = readers[row->tensor];
    const bool good_from_here = std::ranges::all_of(reading, [&](const Layer* reader) {
      return std::ranges::all_of(reader->outputs, [&](const std::string& output) { return good.contains(output); });
    });
    const bool hidden = !reading.empty() && good_behind(row->tensor, readers, graph.outputs, good);
    if (row->role != ErrorRole::Within && good_from_here && hidden) row->role = ErrorRole::Harmless;
    const bool passes = row->role == ErrorRole::Within || row->role == ErrorRole::Harmless;
    if (passes && good_from_here) good.insert(row->tensor);
  }
}

ErrorRole role_of(double sqnr_db, const std::optional<double>& arriving_db, double limit) {
  if (sqnr_db >= limit) return ErrorRole::Within;
  if (!arriving_db || *arriving_db >= limit) return ErrorRole::First;
  // Behind a result that is not finite nothing can get worse.
  return std::isfinite(*arriving_db) && !(sqnr_db > *arriving_db - kOwnDb) ? ErrorRole::Adds : ErrorRole::Inherits;
}

}  // namespace

DebugAccuracyReport debug_accuracy(const DebugAccuracyOptions& options, const JobSinks& sinks) {
  if (options.run.runners.size() != 1) {
    throw Error(ErrorCode::MissingArgument,
                fmt::format("{} to debug, but exactly one is required", plural(options.run.runners.size(), "runner")),
                "‹vernier debug accuracy MODEL --sim --int8›, or ‹trt›, or ‹onnxrt›");
  }
  DebugAccuracyReport report;
  report.command = options.command;
  report.min_sqnr_db = options.min_sqnr_db;
  const auto warn = [&](const Note& note) {
    if (std::ranges::find(report.warnings, note) != report.warnings.end()) return;
    report.warnings.push_back(note);
    sinks.warn(note);
  };

  RunOptions run = options.run;
  RunnerOptions& runner = run.runners.front();
  Sources sources(run.measure, sinks);
  runner.precision = run_network_scripts(runner.model, runner.precision, run.measure.data, sources, warn);
  run.onnx_outputs.names = run.trt_outputs.names = {"*"};
  const bool file = options.golden != "onnxrt" && options.golden != "sim";
  if (!file) {
    const RunnerKind kind = options.golden == "sim" ? RunnerKind::Simulated : RunnerKind::OnnxRuntime;
    RunnerOptions golden;
    golden.kind = kind;
    golden.model = runner.model;
    run.runners.push_back(golden);
  }
  const std::time_t now = std::time(nullptr);
  const auto live = [&](std::size_t index) {
    std::unique_ptr<EngineRunner> engine = engine_of(run, run.runners[index], sinks, warn);
    const std::string name = runner_name(run.runners[index], engine != nullptr, index, now);
    return make_live_run(run, index, name, sources, warn, std::move(engine));
  };
  const std::unique_ptr<LiveRun> tested = live(0);
  std::unique_ptr<Run> reference;
  if (file) {
    std::vector<std::unique_ptr<Run>> saved = open_runs(options.golden);
    reference = std::move(saved.back());
  } else {
    reference = live(1);
  }
  const Graph graph = graph_of(run.runners.front(), sources);
  sources.forget_models();  // the runs hold what they need
  report.model_file = run.runners.front().model.name();
  report.tested_run = tested->name();
  report.reference_run = file ? fmt::format("{} ({})", options.golden, reference->name()) : reference->name();
  report.data = tested->samples().description();
  report.iterations = tested->size();
  const std::size_t threads =
      tested->is_sequence() ? 1 : (run.measure.threads == 0 ? usable_cores() : run.measure.threads);
  OutputDiffs diffs =
      diff_runs(*reference, *tested, printable(report.reference_run), printable(report.tested_run), threads, sinks);
  report.not_compared = std::move(diffs.not_compared);

  std::map<std::string, const DiffRow*> compared;
  for (const DiffRow& row : diffs.rows) compared[row.name] = &row;
  for (const Layer& layer : graph.layers) {
    std::optional<double> arriving;
    for (const std::string& input : layer.inputs) {
      const auto known = compared.find(input);
      if (known == compared.end()) continue;
      arriving = std::min(arriving.value_or(known->second->sqnr_db), known->second->sqnr_db);
    }
    for (const std::string& output : layer.outputs) {
      const auto known = compared.find(output);
      if (known == compared.end()) continue;
      const DiffRow& row = *known->second;
      report.layers.push_back({layer.name, layer.op_type, output, row.sqnr_db, arriving,
                               role_of(row.sqnr_db, arriving, options.min_sqnr_db), row.broken});
    }
  }
  if (report.layers.empty()) {
    throw Error(ErrorCode::Unlike, "no output of a layer is in both runs",
                "save all tensors of the reference with: ‹onnx-outputs› mark all ‹save-outputs› FILE");
  }
  find_harmless(report.layers, graph);
  report.passed = std::ranges::all_of(report.layers, [](const AccuracyRow& row) {
    return row.role == ErrorRole::Within || row.role == ErrorRole::Harmless;
  });
  return report;
}

}  // namespace vernier
