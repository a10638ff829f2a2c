#include "jobs/diagnose/diagnosis_extras.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "engines/onnxruntime/optimizer_faults.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/runtime_check.h"
#include "jobs/common/typed_file.h"
#include "jobs/diagnose/alternatives.h"
#include "jobs/diagnose/diagnosis.h"
#include "jobs/diagnose/latency.h"
#include "jobs/diagnose/sample_pictures.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/verify/default_optimizations.h"
#include "jobs/verify/lost_fusion.h"
#include "plan/scheme.h"
#include "vernier/engine.h"
#include "vernier/format.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/outcome.h"
#include "vernier/target.h"

namespace vernier {
namespace {

/// On the samples that the file was calibrated on. Saturating pairs have a warning of their own.
std::optional<Note> what_onnxruntime_loses(const DiagnosisRun& run, MeasuredNetwork& network) {
  const DiagnoseReport& report = run.report;
  const RunFigures& simulated = report.in_sample ? *report.in_sample : *report.final_figures;
  const std::optional<RunFigures>& there = network.typed.by_default(network.measured);
  if (!there) return std::nullopt;
  std::optional<Note> note = lost_by_default(*there, simulated, report.saturated_pairs, report.requirement,
                                             network.subject().runtime->version());
  if (!note) return note;
  add_lost_fusion(*note, network.typed.fed_with_floats(network.typed.model()), network.loaded(), network.typed.place());
  if (report.in_sample) note->fields.emplace_back("in_sample", true);
  if (run.options.precision.target != Target::OnnxRuntime) note->fields.emplace_back("better_target", "onnxruntime");
  return note;
}

/// Noise over signal of the output that loses most there, and of the same output simulated.
EngineLossFacts noise_of(const EngineFigures& there, const RunFigures& simulated) {
  EngineLossFacts loss;
  loss.engine = there.engine;
  double most = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(there.figures.outputs.size(), simulated.outputs.size()); ++i) {
    const double db = there.figures.outputs[i].sqnr_db, wanted = simulated.outputs[i].sqnr_db;
    const double lost = db == wanted ? 0 : wanted - db;
    if (!(lost > most)) continue;
    most = lost;
    loss.there = noise_of_db(db);
    loss.simulated = noise_of_db(wanted);
  }
  loss.missed = there.figures.passed == false && simulated.passed != false;
  return loss;
}

/// What the compiler makes of the model that `typed`, of `subject`, wrote last. Where some of that has less than 16
/// bits, for TensorRT, also how many kernels everything in float16 would have. That the compiler refuses is a value.
EngineReport compile_typed(Compiler& compiler, const Subject& subject, const Plan& all_low, TypedResult& typed) {
  const Sample first = subject.samples->at(0);
  EngineReport report = compiler.try_compile(as_typed_file(typed.model()), first);
  if (all_low.target != Target::TensorRt || !compiled_below_float16(report)) return report;
  PrecisionOptions half;
  half.low = {Format::Float16};
  const Plan plan = assign_formats(subject.model, subject.layers, half).plan;
  const EngineReport other = compiler.try_compile(as_typed_file(typed.lowered(plan).model), first);
  if (other.refused.empty()) report.float16_kernels = other.kernels.size();
  return report;
}

}  // namespace

std::optional<EngineLossFacts> engine_loss(DiagnosisRun& run, MeasuredNetwork& network,
                                           const std::optional<RefusedFile>& refused) {
  std::optional<EngineFigures> there;
  RunFigures simulated = run.report.all_low;
  Plan plan = network.all_low_plan();
  if (refused) {
    there = refused->there;
    simulated = refused->simulated;
    plan = refused->plan;
  } else if (run.options.precision.target == Target::OnnxRuntime) {
    const std::optional<RunFigures> figures = network.typed.by_default(plan, network.measured);
    const auto decides = [&](const std::optional<SaturatedPairs>& saturated) {
      return deciding_by_default(*figures, simulated, saturated, network.subject().runtime->version());
    };
    if (figures && decides({})) there = decides(network.typed.measured(plan).saturated_pairs);
  }
  if (!there) return std::nullopt;
  EngineLossFacts loss = noise_of(*there, simulated);
  if (run.confirms_on_engine()) return loss;
  const Model file = network.typed.fed_with_floats(network.typed.lowered(plan).model);
  const LostFusion lost = find_lost_fusion(file, network.loaded(), network.typed.place());
  loss.layer = lost.layer;
  loss.op_type = lost.op_type;
  loss.option = lost.option;
  loss.gone = lost.gone;
  return loss;
}

void try_on_onnxruntime(DiagnosisRun& run, MeasuredNetwork& network) {
  TypedReport& report = *run.report.typed;
  TypedResult& typed = network.typed;
  const Subject& subject = network.subject();
  if (too_large_to_try(typed.model())) report.notes.push_back({"too-large-to-try", {}});
  const bool for_it = run.options.precision.target == Target::OnnxRuntime;
  const bool all_samples = for_it || !run.options.quick;
  std::optional<Note> lost;
  if (all_samples && !too_large_to_try(typed.model())) {
    lost = what_onnxruntime_loses(run, network);
    // A run of all samples there that is as the simulation says leaves nothing to try.
    const bool all_outputs = std::ranges::all_of(model_outputs(typed.model()), [&](const InputInfo& output) {
      return std::ranges::find(subject.judged, output.name) != subject.judged.end();
    });
    const bool may_crash = !faulty_optimizers(typed.model().proto.graph()).empty();
    if (all_outputs && !may_crash && typed.by_default(network.measured) && !lost && !run.report.saturated_pairs) {
      report.onnxruntime = RuntimeCheck();
      return;
    }
  }
  report.onnxruntime = try_on_runtime(subject.runtime, typed.fed_with_floats(typed.model()), *subject.samples,
                                      subject.cpu_threads, typed.place());
  if (!report.onnxruntime) return;
  // The figures of all samples say more than that one sample changes.
  std::optional<Note> found = lost && report.onnxruntime->refused.empty()
                                  ? lost
                                  : refusal_note(*report.onnxruntime, subject.runtime->version());
  if (!found) return;
  if (for_it || report.onnxruntime->runs_unoptimized) {
    run.warn(*found);
  } else {
    report.notes.push_back(*found);
  }
}

void measure_latency(DiagnosisRun& run, MeasuredNetwork& network) {
  const DiagnoseOptions& options = run.options;
  DiagnoseReport& report = run.report;
  LatencyModels models;
  models.original = network.loaded().original.get();
  Model low, written;
  const bool on_engine = run.confirms_on_engine();
  if (on_engine || has_integer_kernels(options.precision.low)) {
    // Without kept layers the two are one network, and where nothing helps there is no model.
    const bool one_network = report.kept && report.kept->layers.empty() && report.typed;
    if (report.typed) written = network.typed.fed_with_floats(network.typed.model());
    if (!one_network) low = network.typed.fed_with_floats(network.typed.lowered(network.all_low_plan()).model);
    models.low = one_network ? &written : &low;
    if (report.kept && !one_network && report.typed) models.repaired = &written;
  }
  if (on_engine) {
    const auto engine = EngineRunner::require(options_for(*options.confirm_on, options.engine), run.sinks);
    report.latency = measure_latency(*engine, *network.loaded().samples, models);
  } else {
    report.latency = measure_latency(network.subject(), models, options.precision.target);
  }
  if (!report.alternatives.empty()) add_latency(report);
}

void compile_answer(DiagnosisRun& run, MeasuredNetwork& network, Compiler& compiler) {
  DiagnoseReport& report = run.report;
  report.compiled = compile_typed(compiler, network.subject(), network.all_low_plan(), network.typed);
  if (const auto file = report.files.find("model"); file != report.files.end()) report.compiled->file = file->second;
  if (!report.compiled->refused.empty()) run.warn({"engine-refuses", {{"why", report.compiled->refused}}});
}

std::optional<DiagnosisAnswer> measure_alternatives(DiagnosisRun& run, MeasuredNetwork& network) {
  DiagnoseReport& report = run.report;
  std::optional<DiagnosisAnswer> better;
  const auto again = [&](const DiagnoseOptions& options, const RepairOptions* repairs,
                         const JobSinks& sinks) -> std::optional<DiagnoseReport> {
    const bool repaired = repairs != nullptr;
    DiagnosisRun other(
        options, sinks, /*explain=*/false, repairs,
        AsOption{network.evidence, report, repaired && met(report) ? std::optional(report.kept->cost) : std::nullopt,
                 repaired ? network.from : nullptr, run.sources, run.store});
    std::optional<DiagnosisAnswer> answer = run_diagnosis(other);
    if (!answer) return std::nullopt;
    if (answer->repaired && met(answer->report)) better = *answer;
    return std::move(answer->report);
  };
  report.alternatives = measure_alternatives(run.options, report, again, run.sinks);
  if (run.interrupted() || !adopt_best(run.options, report)) return std::nullopt;
  return better;
}

void draw_layers(DiagnosisRun& run, MeasuredNetwork& network) {
  std::vector<std::string> ranked;
  for (const LayerRow& row : run.report.layers) ranked.push_back(row.name);
  // Of few samples fewer: the counts say where values lie, and each sample runs twice for them.
  const std::size_t most = std::clamp<std::size_t>(network.subject().samples->size() / 4, 1, 4);
  std::vector<std::size_t> samples = network.experiment.few_hard_samples();
  samples.resize(std::min(samples.size(), most));
  run.report.pictures = network.measured.pictures(ranked, samples);
}

void draw_samples(DiagnosisRun& run, const Loaded& loaded) {
  DiagnoseReport& report = run.report;
  const RunFigures& figures = report.final_figures ? *report.final_figures
                              : report.repaired    ? *report.repaired
                                                   : report.all_low;
  std::vector<std::size_t> numbers;
  for (const OutputFigure& output : figures.outputs) {
    for (const SampleFigure& sample : output.worst_samples) numbers.push_back(sample.sample);
  }
  report.sample_pictures =
      sample_pictures(*run.sources.samples(*loaded.original), model_inputs(*loaded.original), numbers);
  if (report.sample_pictures.empty()) run.note({{"no-picture", {}}});
}

}  // namespace vernier
