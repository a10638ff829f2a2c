// Doubles of `run`, `data diff` and `debug accuracy`: they print the options that arrived.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "describe.h"
#include "vernier/accuracy_record.h"
#include "vernier/bench.h"
#include "vernier/comparison.h"
#include "vernier/data_diff.h"
#include "vernier/debug_accuracy.h"
#include "vernier/report/bench.h"
#include "vernier/report/data_diff.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/report/note_text.h"
#include "vernier/report/text.h"
#include "vernier/run.h"
#include "vernier/sinks.h"

namespace vernier {
namespace {

std::string words(RunnerKind kind) {
  switch (kind) {
    case RunnerKind::OnnxRuntime:
      return "onnxrt";
    case RunnerKind::Simulated:
      return "sim";
    case RunnerKind::TensorRt:
      return "trt";
    case RunnerKind::OpenVino:
      return "openvino";
    case RunnerKind::Program:
      return "exec";
  }
  return "";
}

std::string words(const OutputChoice& choice) {
  return fmt::format("names={} excluded={} types={}", choice.names, choice.excluded, choice.op_types);
}

std::vector<std::string> describe_run(const RunOptions& options) {
  std::vector<std::string> lines;
  for (const RunnerOptions& runner : options.runners) {
    lines.push_back(fmt::format("runner {} model={} {}", words(runner.kind), runner.model.name(),
                                fmt::join(describe(runner.precision), " ")));
  }
  for (const auto& path : options.load_outputs) lines.push_back("load " + path.string());
  append(lines, describe(options.measure));
  lines.push_back("onnx outputs " + words(options.onnx_outputs));
  lines.push_back("trt outputs " + words(options.trt_outputs));
  lines.push_back(fmt::format("providers={} optimization={}", options.providers, word_of(options.optimization)));
  lines.push_back(fmt::format("save inputs={} outputs={} accuracy={}", options.save_inputs.string(),
                              options.save_outputs.string(), options.save_accuracy.string()));
  lines.push_back(
      fmt::format("validate={} fail_fast={} detail={}", options.validate, options.fail_fast, options.detail));
  return lines;
}

}  // namespace

RunText::RunText(const ComparisonTextOptions&, std::function<void(const std::string&)> print)
    : print_(std::move(print)) {}
void RunText::operator()(const RunEvent& event) { print_(std::get<NothingCompared>(event).run); }

RunResult run(const RunOptions& options, const JobSinks& sinks, const RunEvents& events) {
  if (!options.runners.empty()) act(options.runners.front().model, sinks);
  if (events) events(NothingCompared{fmt::format("{}", fmt::join(describe_run(options), "\n")), 0});
  RunResult result;
  result.passed = options.runners.empty() || options.runners.front().model.file().stem() != "missed";
  return result;
}

std::string AccuracyRecord::to_json(const CompareOptions&) const { return "{\"kind\": \"accuracy\"}"; }

DiffReport compare(const DiffOptions& options, const JobSinks& sinks) {
  act(options.reference, sinks);
  DiffReport report;
  report.reference_file = options.reference.string();
  report.tested_file = options.tested.string();
  report.metric = options.metric;
  report.threshold = options.threshold;
  if (options.threshold) report.passed = options.reference.stem() != "missed";
  return report;
}

std::string report_to_text(const DiffReport& report, const TextOptions& options) {
  return fmt::format("reference={} tested={} metric={} threshold={} top={}\n", report.reference_file,
                     report.tested_file, word_of(report.metric), report.threshold.value_or(-1), options.top);
}
std::string report_to_json(const DiffReport&) { return "{\"kind\": \"diff\"}"; }
std::string report_to_csv(const DiffReport&) { return "rank\r\n"; }

DebugAccuracyReport debug_accuracy(const DebugAccuracyOptions& options, const JobSinks& sinks) {
  act(options.run.runners.front().model, sinks);
  DebugAccuracyReport report;
  report.model_file = fmt::format("{}\ngolden={} min_sqnr={}", fmt::join(describe_run(options.run), "\n"),
                                  options.golden, options.min_sqnr_db);
  report.passed = options.run.runners.front().model.file().stem() != "missed";
  return report;
}

std::string report_to_text(const DebugAccuracyReport& report, const TextOptions&) { return report.model_file + "\n"; }
std::string report_to_json(const DebugAccuracyReport&) { return "{\"kind\": \"debug\"}"; }

BenchReport bench(const BenchOptions& options, const JobSinks& sinks) {
  act(options.runners.front().model, sinks);
  BenchReport report;
  for (const RunnerOptions& runner : options.runners) {
    report.notes.emplace_back(fmt::format("runner {} model={} use={} device={} {}", words(runner.kind),
                                          runner.model.name(), static_cast<int>(runner.use), runner.device,
                                          fmt::join(describe(runner.precision), " ")));
  }
  append(report.notes, describe(options.measure));
  for (const auto& [name, shape] : options.measure.data.shapes)
    report.notes.emplace_back(fmt::format("shape {} {}", name, shape));
  for (const auto& [name, range] : options.engine.shapes) {
    report.notes.emplace_back(fmt::format("profile {} {} {} {}", name, range.min, range.opt, range.max));
  }
  for (const auto& [name, values] : options.engine.settings)
    report.notes.emplace_back(fmt::format("setting {}={}", name, values));
  report.notes.emplace_back(fmt::format("batches={} warm_up={} iterations={} seconds={} percentiles={}",
                                        options.batches, options.warm_up_ms, options.iterations, options.seconds,
                                        options.percentiles));
  report.notes.emplace_back(fmt::format("copies={} graph={} layers={} save_engine={}", options.copies,
                                        options.cuda_graph, options.layers, options.engine.save_engine.string()));
  report.rows.emplace_back();
  return report;
}

std::string report_to_text(const BenchReport& report, const TextOptions& options, bool kernels) {
  return fmt::format("{}\ntop={} kernels={}\n", fmt::join(note_texts(report.notes), "\n"), options.top, kernels);
}
std::string report_to_json(const BenchReport&) { return "{\"kind\": \"bench\"}"; }
std::string bench_markdown(const BenchReport&, std::size_t top) { return fmt::format("| table | {} |\n", top); }
std::string times_for_trtexec(const BenchRow&) { return "times\n"; }
std::string profile_for_trtexec(const BenchRow&) { return "profile\n"; }
std::string layers_for_trtexec(const BenchRow&) { return "layers\n"; }

bool end_runs_in_flight() { return false; }

}  // namespace vernier
