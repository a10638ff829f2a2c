// What a diagnosis adds once it has its answer: whether ONNX Runtime runs the file, latency, an engine's compiler,
// other ways to the requirement, pictures.

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/common/runtime_check.h"
#include "jobs/diagnose/alternatives.h"
#include "jobs/diagnose/diagnosis.h"
#include "jobs/diagnose/engine_side.h"
#include "jobs/diagnose/latency.h"
#include "jobs/diagnose/sample_pictures.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/verify/default_optimizations.h"

namespace vernier {

/// Whoever deploys the file there is to know before. It is news where the file is made for ONNX Runtime, and where the
/// default optimizations alone refuse it; elsewhere it concerns whoever tries the file on a CPU first.
void Diagnosis::try_on_onnxruntime() {
  if (too_large_to_try(typed_->model())) report_.typed->notes.push_back({"too-large-to-try", {}});
  const bool for_it = options_.precision.target == Target::OnnxRuntime;
  const bool all_samples = for_it || !options_.quick;
  std::optional<Note> lost;
  if (all_samples && !too_large_to_try(typed_->model())) {
    lost = what_onnxruntime_loses();
    // A run of all samples there that is as the simulation says leaves nothing to try.
    const bool all_outputs = std::ranges::all_of(model_outputs(typed_->model()), [&](const InputInfo& output) {
      return std::ranges::find(subject().judged, output.name) != subject().judged.end();
    });
    if (all_outputs && typed_->by_default(*measured_) && !lost && !report_.saturated_pairs) {
      report_.typed->onnxruntime = RuntimeCheck();
      return;
    }
  }
  report_.typed->onnxruntime =
      try_on_runtime(subject().runtime, typed_->model(), *subject().samples, subject().cpu_threads, typed_->place());
  if (!report_.typed->onnxruntime) return;
  std::optional<Note> found = refusal_note(*report_.typed->onnxruntime, subject().runtime->version());
  if (!found) found = lost;
  if (!found) return;
  if (for_it || report_.typed->onnxruntime->runs_unoptimized) {
    warn(*found);
  } else {
    report_.typed->notes.push_back(*found);
  }
}

/// On the samples that the file was calibrated on. Saturating pairs have a warning of their own.
std::optional<Note> Diagnosis::what_onnxruntime_loses() {
  const RunFigures& simulated = report_.in_sample ? *report_.in_sample : *report_.final_figures;
  const std::optional<RunFigures>& there = typed_->by_default(*measured_);
  if (!there) return std::nullopt;
  std::optional<Note> note =
      lost_by_default(*there, simulated, report_.saturated_pairs, report_.requirement, subject().runtime->version());
  if (!note) return note;
  if (report_.in_sample) note->fields.emplace_back("in_sample", true);
  if (options_.precision.target != Target::OnnxRuntime) note->fields.emplace_back("better_target", "onnxruntime");
  return note;
}

void Diagnosis::latency() {
  LatencyModels models;
  models.original = loaded_.original.get();
  TypedModel low;
  const bool on_engine = options_.confirm_on && *options_.confirm_on != MeasureOn::OnnxRuntime;
  if (on_engine || has_integer_kernels(options_.precision.low)) {
    // Without kept layers the two are one network, and where nothing helps there is no model.
    const bool one_network = report_.kept && report_.kept->layers.empty() && report_.typed;
    if (!one_network) low = typed_->lowered(all_low_plan());
    models.low = one_network ? &typed_->model() : &low.model;
    if (report_.kept && !one_network && report_.typed) models.repaired = &typed_->model();
  }
  if (on_engine) {
    const auto engine = EngineRunner::require(options_for(*options_.confirm_on, options_.engine), sinks_);
    report_.latency = measure_latency(*engine, *loaded_.samples, models);
  } else {
    report_.latency = measure_latency(subject(), models, options_.precision.target);
  }
  if (!report_.alternatives.empty()) add_latency(report_);
}

void Diagnosis::compile() {
  report_.compiled = compile_typed(*compiler_, loaded_, all_low_plan(), *typed_);
  if (const auto file = report_.files.find("model"); file != report_.files.end()) report_.compiled->file = file->second;
  if (!report_.compiled->refused.empty()) warn({"engine-refuses", {{"why", report_.compiled->refused}}});
}

void Diagnosis::alternatives() {
  report_.alternatives = measure_alternatives(
      options_, report_,
      [&](const DiagnoseOptions& options, const RepairOptions* repairs,
          const JobSinks& sinks) -> std::optional<DiagnoseReport> {
        Diagnosis other(options, sinks, repairs, *this);
        DiagnoseReport found = other.run();
        if (other.no_cheaper_) return std::nullopt;
        if (repairs != nullptr && met(found)) better_ = other.repaired_answer();
        return found;
      },
      sinks_);
  if (sinks_.is_interrupted() || !adopt_best(options_, report_)) better_.reset();
}

RepairedAnswer Diagnosis::repaired_answer() {
  return {{std::move(subject().model), std::move(subject().layers), all_low_plan(), experiment_->candidate_names(),
           std::move(experiment_->reference.shapes), std::move(evidence_), std::move(halves_)},
          report_,
          repair_notes_,
          rewritten_};
}

void Diagnosis::adopt(RepairedAnswer repaired) {
  other_ = std::move(repaired.network);
  change_network();
  // One of several ways has no use for them where nothing has to be kept.
  if (evidence_.own.empty() && !sinks_.is_interrupted()) {
    step("local error", [&] { own_errors(); });
    rank();
  }
  const bool shows_ranking = !repaired.report.kept->layers.empty() || options_.rank;
  if (shows_ranking && ranks_layers() && evidence_.alone.empty() && !sinks_.is_interrupted()) {
    step("sensitivity", [&] { sensitivities(); });
    rank();
  }
  report_.cross_fit = repaired.report.cross_fit;
  report_.all_low = std::move(repaired.report.all_low);
  report_.kept = std::move(repaired.report.kept);
  report_.repaired = unseen_repaired_ = std::move(repaired.report.repaired);
  show_repairs(std::move(repaired.report.explanation->repairs), std::move(repaired.notes));
  if (repaired.rewritten) writing([&] { typed_->write_float(experiment_->mutable_plan(), report_.files); });
  mark_kept();
  write_and_verify();
  if (file_test_) report_.kept->file_test = file_test_;
  if (engine_test_) report_.kept->engine_test = engine_test_;
}

void Diagnosis::pictures() {
  std::vector<std::string> ranked;
  for (const LayerRow& row : report_.layers) ranked.push_back(row.name);
  // Of few samples fewer: the counts say where values lie, and each sample runs twice for them.
  const std::size_t most = std::clamp<std::size_t>(subject().samples->size() / 4, 1, 4);
  std::vector<std::size_t> samples = experiment_->few_hard_samples();
  samples.resize(std::min(samples.size(), most));
  report_.pictures = measured_->pictures(ranked, samples);
}

void Diagnosis::picture_samples() {
  const RunFigures& run = report_.final_figures ? *report_.final_figures
                          : report_.repaired    ? *report_.repaired
                                                : report_.all_low;
  std::vector<std::size_t> numbers;
  for (const OutputFigure& output : run.outputs) {
    for (const SampleFigure& sample : output.worst_samples) numbers.push_back(sample.sample);
  }
  report_.sample_pictures =
      sample_pictures(*sources_.samples(*loaded_.original), model_inputs(*loaded_.original), numbers);
  if (report_.sample_pictures.empty()) note({{"no-picture", {}}});
}

}  // namespace vernier
