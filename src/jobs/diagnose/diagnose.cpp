// The main job: each step takes the value of the one before it.
#include "vernier/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/lost_agreement.h"
#include "causes/cause_texts.h"
#include "causes/causes.h"
#include "causes/facts.h"
#include "distributed/ranks.h"
#include "jobs/common/output_files.h"
#include "jobs/common/typed_file.h"
#include "jobs/diagnose/calibrated_model.h"
#include "jobs/diagnose/diagnosis.h"
#include "jobs/diagnose/diagnosis_extras.h"
#include "jobs/diagnose/diagnosis_files.h"
#include "jobs/diagnose/diagnosis_notes.h"
#include "jobs/diagnose/explain.h"
#include "jobs/diagnose/format_ladder.h"
#include "jobs/engine/compiler.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/search/kept_set.h"
#include "jobs/verify/verify.h"
#include "plan/engine_limits.h"
#include "plan/engine_sums.h"
#include "plan/float_interface.h"
#include "vernier/arithmetic.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/fix.h"
#include "vernier/report/causes.h"
#include "vernier/report/figures.h"
#include "vernier/target.h"
#include "vernier/verify.h"

namespace vernier {
namespace {

/// Before anything is measured: the engine that has to agree is there, and can judge what decides.
/// Errors: Usage, Backend.
void require_engine(const DiagnoseOptions& options, const JobSinks& sinks) {
  const char* const option = options.trials_on_engine ? "‹on›" : "‹confirm-on›";
  if (!job_ranks().alone()) {
    throw Error(ErrorCode::WithoutEffect, fmt::format("{}: one process has the engine", option),
                "run it without mpirun");
  }
  if (options.search.check) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("{}: an outside check itself decides where it runs the model", option),
                fmt::format("leave out {}, or let a requirement, labels or a metric script decide", option));
  }
  if (*options.confirm_on == MeasureOn::OnnxRuntime) return;
  EngineRunner::require(options_for(*options.confirm_on, options.engine), sinks);
}

/// Of the quantized file whose ranges are taken over, as it is.
RunFigures given_file(DiagnosisRun& run) {
  const DiagnoseOptions& asked = run.options;
  VerifyOptions options;
  options.float_model = asked.model;
  options.typed_model = *asked.from;
  options.measure = asked.measure;
  // As verify() decides of it: by its figure on these samples.
  if (options.measure.requirement) options.measure.requirement->confidence = 0.5;
  options.target = asked.precision.target;
  JobSinks quiet = run.sinks;
  quiet.warning = {};  // this job says them itself
  Model file = as_typed_file(*run.sources.model(*asked.from));
  give_float_interface(file, *run.sources.model(asked.model));
  return verify_model(file, options, run.sources, quiet).figures;
}

/// Of the file that was given, and of the network if it were written as it stands.
std::vector<LostLimitFacts> lost_limits(MeasuredNetwork& network) {
  const LoadedModel& model = network.model();
  std::vector<LostLimitFacts> lost;
  if (model.precision.target != Target::TensorRt) return lost;
  for (const std::string& layer : model.typed_source.lost_limits) lost.push_back({layer, /*given=*/true});
  if (!may_lose_limits(network.subject().model)) return lost;
  for (const std::string& layer : network.typed.lowered(network.all_low_plan()).spelled_limits) {
    if (std::ranges::find(lost, layer, &LostLimitFacts::layer) == lost.end()) lost.push_back({layer, /*given=*/false});
  }
  return lost;
}

/// On the samples that calibrated everything low, or on others.
bool is_missed(const DiagnosisRun& run, const AllLow& low) {
  const bool on_others = low.unseen && low.unseen->passed == false;
  return run.requirement() != nullptr && (run.report.all_low.passed == false || on_others);
}

/// The causes, of the network as it is: before it is repaired, or once the layers to keep are known. `refused`: a file
/// that the search confirmed in vain.
void explain_layers(DiagnosisRun& run, MeasuredNetwork& network, const AllLow& low,
                    const std::optional<RefusedFile>& refused = std::nullopt) {
  DiagnoseReport& report = run.report;
  std::set<std::string> kept;
  if (report.kept) kept.insert(report.kept->layers.begin(), report.kept->layers.end());
  ExplainOptions how;
  how.own = run.options.causes;
  how.missed = is_missed(run, low);
  // Classes that change are no reason of a missed SQNR.
  const bool of_classes = run.requirement() == nullptr || run.requirement()->metric == Metric::MinTop1Agreement;
  for (const OutputFigure& output : report.all_low.outputs) {
    if (of_classes && output.top1_agreement)
      how.top1_agreement = std::min(*output.top1_agreement, how.top1_agreement.value_or(1));
  }
  for (const OutputFigure& output : low.unseen ? low.unseen->outputs : std::vector<OutputFigure>{}) {
    how.unseen_noise = std::max(how.unseen_noise, noise_of_db(output.sqnr_db));
  }
  how.lost_limits = lost_limits(network);
  run.optionally("the engine's part in the causes", [&] { how.engine_loss = engine_loss(run, network, refused); });
  how.missed = how.missed || (how.engine_loss && how.engine_loss->missed);
  report.explanation = explain(network.measured, network.evidence, report.layers, kept, how);
}

/// Of a network that was repaired, or needed no repair: everything low had causes of its own.
void explain_refused(DiagnosisRun& run, MeasuredNetwork& network, const std::optional<RefusedFile>& refused) {
  std::optional<Explanation>& found = run.report.explanation;
  const auto is_known = [](const Cause& cause) { return cause.id == kEngineLoss; };
  if (!refused || (found && std::ranges::any_of(found->causes, is_known))) return;
  NetworkFacts facts;
  facts.needed = true;
  facts.engine_loss = engine_loss(run, network, refused);
  const std::vector<Cause> causes = find_causes(facts);
  if (causes.empty()) return;
  if (!found) found.emplace().examined = {causes.front().layer};
  found->causes.insert(found->causes.begin(), causes.begin(), causes.end());
}

/// Whether the layers of a network that does as `low` with everything low are ranked.
bool needs_ranking(const DiagnosisRun& run, const AllLow& low) {
  return run.ranks_layers() && (!run.options.quick || (run.searches() && !nothing_needed(run, low)));
}

AllLow measure_low(DiagnosisRun& run, MeasuredNetwork& network) {
  const DiagnoseOptions& options = run.options;
  DiagnoseReport& report = run.report;
  // Whoever wants the answer alone needs no errors of layers while everything low may be it.
  const bool outputs_first = (options.quick || run.option) && run.searches() && run.repairs == nullptr;
  const auto own_errors = [&] { run.step("local error", [&] { measure_own_errors(network); }); };
  if (run.ranks_layers() && !options.quick && !outputs_first) own_errors();
  AllLow low{run.step("all-low comparison", [&] { return measure_all_low(run, network, !outputs_first); })};
  report.all_low = low.figures;
  low.moved = rows_moved(network.subject(), network.experiment.all_low().outputs);
  if (options.from) {
    report.given_file = options.from->name();
    if (!network.model().typed_source.refused) {
      run.optional_step("given file", [&] { report.given = given_file(run); });
    }
  }
  if (network.halves) low = run.step("unseen samples", [&] { return all_low_on_unseen(run, network, low.figures); });
  const bool needless = nothing_needed(run, low);
  if (needs_ranking(run, low) && (options.quick || (outputs_first && !needless))) own_errors();
  // An option is one row of a table: the ranking of its layers is for its search alone.
  const bool by_propagated = !run.option || options.search.mode == SearchMode::WorstFirst;
  if (outputs_first && !needless && by_propagated) {
    report.all_low = run.step("all-low comparison", [&] { return measure_all_low(run, network); });
  }
  return low;
}

/// As repair().
Repaired repair_where_needed(DiagnosisRun& run, std::unique_ptr<MeasuredNetwork>& network, const AllLow& low) {
  if (run.repairs == nullptr) return {low, nullptr, {}};
  if (nothing_needed(run, low) && run.repairs->allow.empty() && run.repairs->own.empty()) {
    run.note({{"no-repair-needed", {}}});
    return {low, nullptr, {}};
  }
  if (run.explains) {
    run.step("sensitivity", [&] { measure_sensitivities(run, *network); });
    rank(run, *network);
    run.optional_step("causes", [&] { explain_layers(run, *network, low); });
  }
  return run.step("repairs", [&] { return repair(run, network, low); });
}

void rank_layers(DiagnosisRun& run, MeasuredNetwork& network, const AllLow& plain, const AllLow& low) {
  // Near the limit the file may miss after all: then the search asks for them.
  const bool near_suffices = run.repairs == nullptr || run.option;
  const bool searches_nothing =
      near_suffices ? nothing_needed(run, low, /*most_damage=*/1) : nothing_needed(run, plain);
  if (needs_ranking(run, plain) && network.evidence.alone.empty() && (!searches_nothing || run.options.rank)) {
    run.step("sensitivity", [&] { measure_sensitivities(run, network); });
    run.note(notes_of_known(must_be_kept(network.experiment, network.evidence), run.options.precision.high));
  }
  rank(run, network);
  if (!needs_explanation(network.experiment, run.report.layers, is_missed(run, plain))) run.steps.expect("causes", 0.1);
}

/// What stands beside the answer once there is one, in the order of the report's phases.
void look_closer(DiagnosisRun& run, MeasuredNetwork& network, const AllLow& low, const Verification& verified,
                 std::optional<Compiler>& compiler) {
  const DiagnoseOptions& options = run.options;
  const PrecisionOptions& precision = network.model().precision;
  DiagnoseReport& report = run.report;
  if (!run.interrupted() && !run.option) {
    run.optionally("the comparison of classes", [&] { compare_classes(run, network, low.moved); });
  }
  if (!run.searches() && !report.final_figures && !run.interrupted() && sums_may_differ(network.all_low_plan())) {
    run.optional_step("other accumulation", [&] { report.other_sums = all_low_with_other_sums(run, network); });
  }
  if (network.all_low_plan().target != Target::TensorRt && !run.interrupted() && !run.option &&
      (report.final_figures || !run.searches())) {
    run.step("saturated pairs", [&] { report_saturation(run, network); });
  }
  if (options.search.task.labels && !network.halves && report.kept && report.kept->file_test) {
    run.warn({"judged-on-same-samples", {}});
  }
  if (!run.interrupted() && network.experiment.golden() == nullptr) {
    run.optionally("the check of Softmax inputs", [&] { look_in_front_of_softmaxes(run, network); });
  }
  if (report.other_sums || precision.arithmetic != Arithmetic{}) run.note({sums_evidence()});
  for (const Note& doubt : verified.doubts) {
    if (std::ranges::find(report.warnings, doubt) == report.warnings.end()) run.warn(doubt);
  }
  const bool first = job_ranks().first();
  const bool tries = !run.option && (!options.quick || precision.target == Target::OnnxRuntime);
  if (!run.interrupted() && report.final_figures && report.typed && tries && first) {
    run.optional_step("ONNX Runtime", [&] { try_on_onnxruntime(run, network); });
  }
  if (!run.interrupted() && run.times_models() && first) {
    run.optional_step("latency", [&] { measure_latency(run, network); });
  }
  if (!run.interrupted() && compiler && report.typed) {
    run.optional_step("compilation", [&] { compile_answer(run, network, *compiler); });
  }
  network.measured.keep();
  if (!run.interrupted() && !options.quick && run.draws()) {
    run.optional_step("pictures", [&] { draw_layers(run, network); });
  }
  network.measured.keep();
  note_of_records(run, network.loaded(), network.measured.taken());
  if (run.interrupted()) say_interrupted(run);
  if (!run.interrupted() && options.sample_pictures) {
    run.optionally("pictures of samples", [&] { draw_samples(run, network.loaded()); });
  }
}

void sign_and_record(DiagnosisRun& run, MeasuredNetwork& network) {
  DiagnoseReport& report = run.report;
  report.reference_from_file = network.model().typed_source.quantized;
  if (report.final_figures && report.typed && job_ranks().first()) {
    run.writing([&] { report.typed->model = network.typed.sign(claims_of(report), report.files); });
  }
  run.watch.stop();
  if (network.loaded().partial && !run.option) network.loaded().partial->done();
  run.writing([&] { write_record(report, run.options.output); });
}

/// From the network as it was loaded to the answer. `network` is the one that is worked on.
std::optional<DiagnosisAnswer> answer(DiagnosisRun& run, std::unique_ptr<MeasuredNetwork>& network,
                                      std::optional<Compiler>& compiler) {
  const DiagnoseOptions& options = run.options;
  DiagnoseReport& report = run.report;
  const auto no_cheaper = [&]() -> std::optional<DiagnosisAnswer> {
    network->measured.keep();
    if (network->loaded().partial && !run.option) network->loaded().partial->done();
    return std::nullopt;
  };
  const AllLow low = measure_low(run, *network);
  Repaired repaired = repair_where_needed(run, network, low);
  const bool changed = repaired.plain != nullptr;
  // Without any repair the network, and the answer, is the one that is there.
  if (run.option && run.option->cost_to_beat && !changed && !run.interrupted()) return no_cheaper();
  rank_layers(run, *network, low, repaired.low);
  Searched found;
  if (run.searches()) {
    found = search(run, *network);
    if (found.no_cheaper) return no_cheaper();
    found = search_without_repairs(run, network, std::move(repaired.plain), repaired.accepted, std::move(found));
  } else {
    run.optional_step("curve",
                      [&] { report.curve = quality_curve(network->experiment, network->evidence, report.layers); });
  }
  if (report.kept && !report.kept->layers.empty()) {
    std::erase_if(report.notes, [](const Note& note) { return note.code == "no-repair-needed"; });
  }
  if (const auto worse = worse_high_note(report)) run.note({*worse});
  network->experiment.forget_switched();
  Verification verified = std::move(found.verified);
  if (!report.final_figures && !report.typed) verified = write_and_verify(run, *network);
  if (low.unseen) compare_on_unseen(report, low, repaired.low);
  const bool explains = run.repairs == nullptr && run.explains && !options.quick;
  if (explains && run.ranks_layers() && !run.interrupted()) {
    run.optional_step("causes", [&] { explain_layers(run, *network, low, found.refused); });
  }
  if (run.repairs != nullptr && !run.interrupted())
    run.optionally("the engine's part in the causes", [&] { explain_refused(run, *network, found.refused); });
  network->measured.keep();
  const bool has_float_model = !network->model().typed_source.quantized;  // without one no option is ever met
  if (explains && options.alternatives > 0 && has_float_model) {
    // They take many times as long as the answer, which can be read meanwhile.
    run.writing([&] {
      DiagnoseReport so_far = report;
      write_record(so_far, options.output);
    });
    std::optional<DiagnosisAnswer> better;
    run.optional_step("options", [&] { better = measure_alternatives(run, *network); });
    if (better && !run.interrupted()) verified = adopt(run, network, std::move(*better));
  }
  look_closer(run, *network, low, verified, compiler);
  write_qat(run, *network, report.repaired && repaired.accepted.rewritten);
  sign_and_record(run, *network);
  DiagnosisAnswer result{std::move(report), std::nullopt, std::move(repaired.accepted)};
  if (run.option && changed) result.repaired = variant_of(std::move(*network));
  return result;
}

DiagnoseReport report_of(const DiagnoseOptions& asked, const JobSinks& sinks, bool explains,
                         const RepairOptions* repairs) {
  const DiagnoseOptions options = with_ladder(asked);
  DiagnosisRun run(options, sinks, explains, repairs);
  return std::move(run_diagnosis(run)->report);
}

}  // namespace

std::optional<DiagnosisAnswer> run_diagnosis(DiagnosisRun& run) {
  const DiagnoseOptions& options = run.options;
  std::optional<Compiler> compiler;
  if (options.compile && job_ranks().first()) {
    compiler.emplace(for_target(*options.compile, options.precision.target), run.sinks);
  }
  if (options.confirm_on) require_engine(options, run.sinks);
  const auto first = run.option ? run.option->calibrated_first : nullptr;
  const auto model = first ? first->model
                           : or_record(
                                 run, [&] { return run.step("load", [&] { return load_model(run); }); }, [] {});
  require_qat(run, *model);
  const OutputFolder folder(options.output);
  std::optional<OutputFolder> for_training;
  const auto folder_name = [](const std::filesystem::path& path) {
    return (std::filesystem::weakly_canonical(path) / "").lexically_normal();
  };
  if (run.repairs != nullptr && folder_name(run.repairs->qat) != folder_name(options.output))
    for_training.emplace(run.repairs->qat);
  const auto note_source = [&](const std::string& taken) {
    run.report.reference_from_file = model->typed_source.quantized;
    note_of_records(run, model->loaded, taken);
  };
  std::unique_ptr<MeasuredNetwork> network = or_record(
      run, [&] { return network_of(run, first ? calibrated_first(run) : calibrate(run, model)); },
      [&] {
        rank(run, Experiment(subject_of(model), run.requirement(), {}, {}, model->plan, model->candidates), {});
        note_source("");
      });
  return or_record(
      run, [&] { return answer(run, network, compiler); },
      [&] {
        rank(run, *network);
        note_source(network->measured.taken());
      });
}

DiagnoseReport diagnose(const DiagnoseOptions& options, const JobSinks& sinks) {
  return report_of(options, sinks, /*explains=*/true, nullptr);
}

DiagnoseReport fix(const FixOptions& options, const JobSinks& sinks) {
  return report_of(options, sinks, /*explains=*/true, &options.repair);
}

DiagnoseReport search_precision(const DiagnoseOptions& options, const JobSinks& sinks) {
  return report_of(options, sinks, /*explains=*/false, nullptr);
}

}  // namespace vernier
