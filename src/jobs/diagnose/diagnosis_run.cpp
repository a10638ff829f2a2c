#include "jobs/diagnose/diagnosis_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "base/machine.h"
#include "base/version.h"
#include "jobs/diagnose/diagnosis_files.h"
#include "jobs/diagnose/layer_times.h"
#include "model/prepare.h"
#include "plan/scheme.h"
#include "vernier/engine.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/search_options.h"
#include "vernier/target.h"

namespace vernier {
namespace {

/// What is known from the options alone. Errors: Usage when they contradict each other.
void describe(const DiagnoseOptions& options, bool on_engine, DiagnoseReport& report) {
  const std::optional<Format>& kv_cache = options.precision.rules.kv_cache;
  if (options.precision.low.empty() && !kv_cache) {
    throw Error(ErrorCode::MissingArgument, "no low precision was chosen", "pass ‹int8›, ‹fp16›, ‹bf16› or ‹fp8›");
  }
  if (options.precision.low.empty() && *kv_cache == options.precision.high) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("‹kv-cache› {} lowers nothing: it is the high format too", format_name(*kv_cache)),
                "‹precision› float32, or ‹kv-cache› int8");
  }
  // On a ladder the others cost as FP32, as long as some layers can gain.
  const std::vector<Format>& low = options.precision.low;
  const auto without_kernels = std::ranges::find_if_not(low, has_kernels_on_cpu);
  const bool gains = !options.search.ladder.empty() && std::ranges::any_of(low, has_kernels_on_cpu);
  if (options.search.cost == CostUnit::Time && !on_engine && without_kernels != low.end() && !gains) {
    throw Error(
        ErrorCode::WithoutEffect,
        fmt::format("‹cost› time: ONNX Runtime's CPU kernels compute {} in FP32, so their time is meaningless",
                    format_title(*without_kernels)),
        "‹cost› macs or ‹cost› bytes; time works with ‹int8›, or on an engine: ‹vernier diagnose --confirm-on›, "
        "‹vernier debug precision --on›");
  }
  report.command = options.command;
  report.vernier_version = vernier_version();
  report.onnx_version = onnx_version();
  report.machine = machine_text();
  report.target = options.precision.target;
  report.low = options.precision.low;
  if (report.low.empty()) report.low = {*kv_cache};
  report.high = options.precision.high;
  report.requirement = options.measure.requirement;
  report.weights_per_tensor =
      !options.precision.rules.weights_per_channel && std::ranges::any_of(options.precision.low, needs_scale);
  report.scheme = scheme_text(options.precision);
  report.runner = options.precision.target == Target::TensorRt
                      ? "trt-sim"
                      : fmt::format("sim-{}", word_of(options.precision.target));
  report.calibrated_on_evaluation_samples = !options.measure.calibration_data.has_value();
}

}  // namespace

DiagnosisRun::DiagnosisRun(const DiagnoseOptions& asked, const JobSinks& to, bool explain,
                           const RepairOptions* may_repair, std::optional<AsOption> as_option)
    : options(asked),
      sinks(to),
      explains(explain),
      repairs(may_repair),
      option(std::move(as_option)),
      watch(report.phases),
      steps(sinks),
      sources(option ? Sources(option->sources, sinks) : Sources(options.measure, sinks)),
      store(option ? option->store : store_for(options)) {
  if (options.measure.requirement) require_valid(*options.measure.requirement);
  describe(options, confirms_on_engine(), report);
  report.job = repairs != nullptr ? DiagnosisJob::Fix : DiagnosisJob::Diagnose;
  plan_steps();
  keep_inputs_safe(options);
}

bool DiagnosisRun::searches() const {
  const SearchOptions& search = options.search;
  return requirement() != nullptr || search.check || !search.task.empty() || search.compare;
}

bool DiagnosisRun::ranks_layers() const { return !searches() || options.search.mode == SearchMode::Minimal; }

bool DiagnosisRun::times_models() const {
  const bool where_it_runs = confirms_on_engine() || options.precision.target == Target::OnnxRuntime;
  if (options.quick || (option && !where_it_runs)) return false;
  return options.latency.value_or(options.confirm_on.has_value() || where_it_runs);
}

void DiagnosisRun::say_seconds() {
  if (!watch.stop() || !sinks.info) return;
  sinks.info(fmt::format("{}: {:.2f} s", report.phases.back().phase, report.phases.back().seconds));
}

void DiagnosisRun::warn(const Note& note) {
  report.warnings.push_back(note);
  sinks.warn(note);
}

void DiagnosisRun::note_once(const Note& one) {
  if (std::ranges::find(report.notes, one) == report.notes.end()) report.notes.push_back(one);
}

void DiagnosisRun::failed_phase(const std::string& phase, const std::string& reason) {
  say_seconds();
  warn({"phase-failed", {{"phase", phase}, {"error", reason}}});
}

void DiagnosisRun::plan_steps() {
  const bool scaled = std::ranges::any_of(options.precision.low, needs_scale);
  steps.add("load", 1.5);
  steps.add("reference run", 2.5);
  if (scaled) steps.add("calibration", 2);
  if (ranks_layers()) steps.add("local error", 4.5);
  steps.add("all-low comparison", 4);
  if (scaled && options.measure.cross_fit) steps.add("unseen samples", 4);
  if (repairs == nullptr && ranks_layers()) steps.add("sensitivity", 8);
  if (repairs != nullptr && explains) {
    steps.add("sensitivity", 8);
    steps.add("causes", 3.5);
  }
  if (repairs != nullptr) steps.add("repairs", 40);
  if (searches()) {
    steps.add("search", 35);
  } else {
    steps.add("curve", 5);
    if (!options.output.empty()) steps.add("verify", 4);
  }
  if (repairs == nullptr && explains && ranks_layers()) steps.add("causes", 3.5);
  if (options.precision.target == Target::OnnxRuntime) steps.add("saturated pairs", 4);
  if (times_models()) steps.add("latency", 10);
  if (options.compile) steps.add("compilation", 20);
  if (repairs == nullptr && explains && options.alternatives > 0 && searches()) steps.add("options", 80);
  if (draws()) steps.add("pictures", 2.5);
}

}  // namespace vernier
