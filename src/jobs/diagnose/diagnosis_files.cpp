#include "jobs/diagnose/diagnosis_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/text.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/output_files.h"
#include "jobs/diagnose/measured_network.h"
#include "jobs/scripting/network_scripts.h"
#include "model/external_files.h"
#include "plan/qat_config.h"
#include "plan/torch_modules.h"
#include "report/text/diagnose_answer.h"
#include "report/text/diagnosis_words.h"
#include "report/text/figures.h"
#include "report/text/numbers.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {
namespace {

constexpr const char* kQatFile = "qat.py";

/// Whether a report that was cut short has figures of the low formats: they are worth a file.
bool measured_anything(const DiagnoseReport& report) {
  return !report.all_low.outputs.empty() || is_measured(report.layers, &LayerRow::own_sqnr_db);
}

/// Which files of a run before lie in `folder`, for a report that has none of its own beside it; empty: none.
std::optional<Note> older_files(const DiagnoseReport& report, const std::filesystem::path& folder) {
  if (folder.empty() || report.typed) return std::nullopt;
  std::vector<std::string> older;
  for (const char* file : {"model.onnx", "plan.json", "deploy.md"}) {
    std::error_code ignored;
    if (std::filesystem::exists(folder / file, ignored)) older.emplace_back(file);
  }
  if (older.empty()) return std::nullopt;
  return Note{"older-files", {{"folder", folder.string()}, {"files", older}}};
}

std::vector<std::filesystem::path> inputs_of(const DiagnoseOptions& options) {
  std::vector<std::filesystem::path> inputs = source_files(options.measure);
  inputs.push_back(options.model.file());
  if (options.from) inputs.push_back(options.from->file());
  for (std::filesystem::path& script : script_files(options.precision)) inputs.push_back(std::move(script));
  if (!options.measure.calibration_cache.empty()) inputs.push_back(options.measure.calibration_cache);
  return inputs;
}

}  // namespace

void keep_inputs_safe(const DiagnoseOptions& options) {
  if (options.output.empty()) return;
  const std::vector<std::filesystem::path> inputs = inputs_of(options);
  for (const char* file : {"model.onnx", "model.onnx.data", "float.onnx", "float.onnx.data", "plan.json", "report.json",
                           "report.html", "deploy.md"}) {
    refuse_to_overwrite(options.output / file, inputs);
  }
  if (!options.external_data.file.empty()) {
    refuse_data_of_others(options.output / "model.onnx", options.external_data.file);
  }
}

std::map<std::string, std::string> claims_of(const DiagnoseReport& report) {
  std::map<std::string, std::string> claims;
  if (report.requirement && !report.reference_from_file) claims["requirement"] = requirement_text(*report.requirement);
  const auto figure = [&](const RunFigures& figures, const std::string& evidence) {
    std::string text = figure_text(figures, report.requirement);
    const bool said = report.requirement && report.requirement->metric == Metric::MinTop1Agreement;
    if (const auto same = same_top1(figures); same && !said)
      text += fmt::format(", {} top-1 agreement", percent_text(*same));
    return fmt::format("{} against {}, {}, {}", text,
                       report.reference_from_file ? "the values that the file stores" : "the float model",
                       plural(report.samples, "sample"), evidence);
  };
  claims["figure"] = figure(*report.final_figures,
                            fmt::format("simulated ({}){}", report.runner, report.cross_fit ? ", cross-fitted" : ""));
  if (report.engine) claims["figure_on_engine"] = figure(report.engine->figures, "run on " + report.engine->engine);
  return claims;
}

void write_record(DiagnoseReport& report, const std::filesystem::path& folder) {
  if (folder.empty()) return;
  struct File {
    const char* what;
    const char* name;
    std::string (*text)(const DiagnoseReport&);
  };
  const File deploy{"deploy", "deploy.md", &deploy_markdown};
  const File page{"page", "report.html", &report_to_html};
  const File json{"report", "report.json", &report_to_json};
  std::optional<Error> first;
  const auto write = [&](const File& file) {
    try {
      replace_file(folder / file.name, file.text(report));
      return true;
    } catch (const Error& refused) {
      report.files.erase(file.what);
      report.interrupted = true;
      if (!first) first = refused;
      return false;
    }
  };
  const auto name = [&](const File& file) { report.files[file.what] = (folder / file.name).string(); };
  if (report.typed) name(deploy);
  name(page);
  name(json);
  if (report.typed) write(deploy);
  const bool paged = write(page);
  // The JSON comes last, because it knows which of the others the disk took. It needs its room more than the page.
  if (!write(json) && paged) {
    std::error_code ignored;
    std::filesystem::remove(folder / page.name, ignored);
    report.files.erase(page.what);
    name(json);
    if (write(json)) {
      first = Error(first->kind(), fmt::format("{}: left out, so that {} could be written: {}",
                                               printable((folder / page.name).string()), json.name, first->what()));
    } else {
      name(page);
      write(page);
    }
  }
  if (first) throw *first;
}

void require_qat(DiagnosisRun& run, const LoadedModel& model) {
  const std::optional<Error> refusal =
      refusal_of_qat(model.precision, torch_modules(*model.loaded.original, model.loaded.subject.layers));
  run.report.trainable = !refusal;
  if (run.repairs == nullptr || run.repairs->qat.empty()) return;
  refuse_to_overwrite(run.repairs->qat / kQatFile, inputs_of(run.options));
  if (refusal) throw Error(*refusal);
}

void write_qat(DiagnosisRun& run, const MeasuredNetwork& network, bool rewritten) {
  if (run.repairs == nullptr || run.repairs->qat.empty()) return;
  DiagnoseReport& report = run.report;
  const bool leaves_low = report.kept && report.kept->end != SearchEnd::Impossible && !keeps_everything(report);
  Plan plan = leaves_low ? network.plan_of(report.kept) : network.all_low_plan();
  if (rewritten) {
    plan.tensors = network.from->plan.tensors;
    plan.other_grids = network.from->plan.other_grids;
  }
  const std::vector<Layer>& layers = network.loaded().subject.layers;
  const QatConfig config = qat_config(plan, layers, torch_modules(*network.loaded().original, layers));
  const std::filesystem::path file = run.repairs->qat / kQatFile;
  run.writing([&] { replace_file(file, config.text); });
  report.files["qat"] = file.string();
  run.note({{"qat-written",
             {{"quantized", config.quantized},
              {"kept", config.kept},
              {"left_out", config.left_out},
              {"without_repairs", rewritten}}}});
}

void note_of_records(DiagnosisRun& run, const Loaded& loaded, const std::string& taken) {
  if (!taken.empty()) run.note_once({"measurements-reused", {{"what", taken}}});
  if (run.store != nullptr && !run.store->refused().empty()) {
    run.note_once({"nothing-kept", {{"why", run.store->refused()}}});
  }
  const GpuSide* const gpu = loaded.subject.runtime->gpu();
  if (gpu == nullptr) return;
  if (gpu->copies_inside() > 0) run.note_once({"gpu-copies", {{"tensors", gpu->copies_inside()}}});
  if (gpu->most_parts() > 0) run.note_once({"gpu-parts", {{"parts", gpu->most_parts()}}});
}

void say_interrupted(DiagnosisRun& run) {
  DiagnoseReport& report = run.report;
  report.interrupted = true;
  const std::string journal = report.kept ? report.kept->journal : std::string();
  const bool repaired = std::ranges::find(report.phases, "repairs", &PhaseTime::phase) != report.phases.end();
  Note note{"job-interrupted", {{"journal", journal}}};
  if (!journal.empty() || run.records.kept) note.fields.emplace_back("repairs_anew", repaired);
  if (journal.empty() && run.records.kept) note.fields.emplace_back("resumes", true);
  run.warn(note);
}

DiagnosisInterrupted ended_by(DiagnosisRun& run, const Error& error) {
  DiagnoseReport& report = run.report;
  if (report.kept) mark_kept(report);
  report.interrupted = true;
  if (run.refused_file || !measured_anything(report)) return {error, std::move(report)};
  if (const auto older = older_files(report, run.options.output)) run.warn(*older);
  say_interrupted(run);
  try {
    write_record(report, run.options.output);
  } catch (const Error& refused) {
    run.warn({"record-not-written", {{"error", refused.what()}}});
  }
  return {error, std::move(report)};
}

}  // namespace vernier
