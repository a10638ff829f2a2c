// The main job, from the model to what stands in the report.

#include "vernier/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/lost_agreement.h"
#include "analysis/own_error.h"
#include "analysis/pictures.h"
#include "analysis/some_samples.h"
#include "analysis/trials.h"
#include "base/parallel.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/load.h"
#include "jobs/common/output_files.h"
#include "jobs/common/runtime_check.h"
#include "jobs/common/typed_file.h"
#include "jobs/data_check/check_inputs.h"
#include "jobs/diagnose/alternatives.h"
#include "jobs/diagnose/describe.h"
#include "jobs/diagnose/diagnosis.h"
#include "jobs/diagnose/diagnosis_files.h"
#include "jobs/diagnose/diagnosis_notes.h"
#include "jobs/diagnose/diagnosis_ranges.h"
#include "jobs/diagnose/engine_side.h"
#include "jobs/diagnose/engine_trials.h"
#include "jobs/diagnose/explain.h"
#include "jobs/diagnose/format_ladder.h"
#include "jobs/diagnose/latency.h"
#include "jobs/diagnose/layer_times.h"
#include "jobs/diagnose/prove_prepared.h"
#include "jobs/diagnose/sample_pictures.h"
#include "jobs/diagnose/single_sensitivities.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/diagnose/typed_source.h"
#include "jobs/engine/compiler.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/scripting/network_scripts.h"
#include "jobs/search/chosen_objective.h"
#include "jobs/search/evidence.h"
#include "jobs/search/experiment.h"
#include "jobs/search/golden.h"
#include "jobs/search/judge.h"
#include "jobs/search/kept_set.h"
#include "jobs/verify/verify.h"
#include "json/fields.h"
#include "json/json.h"
#include "model/contents.h"
#include "plan/engine_limits.h"
#include "plan/engine_sums.h"
#include "plan/float_interface.h"
#include "plan/scheme.h"
#include "search/journal.h"
#include "vernier/arithmetic.h"
#include "vernier/calibrate.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/fix.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/engine.h"
#include "vernier/report/figures.h"
#include "vernier/report/outcome.h"
#include "vernier/run.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"
#include "vernier/verify.h"

namespace vernier {

Diagnosis::Diagnosis(const DiagnoseOptions& options, const JobSinks& sinks, bool explains, const RepairOptions* repairs)
    : options_(options),
      explains_(explains),
      repairs_(repairs),
      sinks_(sinks),
      watch_(report_.phases),
      sources_(options.measure, sinks),
      store_(store_for(options)) {}

Diagnosis::Diagnosis(const DiagnoseOptions& options, const JobSinks& sinks, const RepairOptions* repairs,
                     const Diagnosis& other)
    : options_(options),
      explains_(false),
      repairs_(repairs),
      is_option_(true),
      found_first_(&other.evidence_),
      cost_to_beat_(repairs != nullptr && met(other.report_) ? std::optional(other.report_.kept->cost) : std::nullopt),
      proven_(options.precision.target == other.options_.precision.target &&
                      options.precision.low == other.options_.precision.low
                  ? &other.report_.reference
                  : nullptr),
      taught_first_(repairs != nullptr ? other.halves_ : nullptr),
      sinks_(sinks),
      watch_(report_.phases),
      sources_(other.sources_, sinks),
      store_(other.store_) {}

DiagnoseReport Diagnosis::run() {
  if (options_.measure.requirement) require_valid(*options_.measure.requirement);
  describe(options_, report_);
  report_.job = repairs_ != nullptr ? DiagnosisJob::Fix : DiagnosisJob::Diagnose;
  plan_steps();
  keep_inputs_safe(options_);
  if (options_.compile && job_ranks().first()) {
    compiler_.emplace(for_target(*options_.compile, options_.precision.target), sinks_);
  }
  if (options_.confirm_on) require_engine(options_, sinks_);
  try {
    step("load", [&] { load_model(); });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted) throw;
    throw ended_by(error);
  }
  const OutputFolder folder(options_.output);
  try {
    step("reference run", [&] { reference(); });
    step("calibration", [&] { calibrate(); });
    // Whoever wants the answer alone needs no errors of layers while everything low may be it.
    const bool outputs_first = (options_.quick || is_option_) && searches() && repairs_ == nullptr;
    if (ranks_layers() && !options_.quick && !outputs_first) step("local error", [&] { own_errors(); });
    step("all-low comparison", [&] { report_.all_low = all_low(!outputs_first); });
    moved_low_ = rows_moved(subject(), experiment_->all_low().outputs);
    if (options_.from) {
      report_.given_file = options_.from->name();
      if (!typed_source_.refused) optional_step("given file", [&] { report_.given = given_file(); });
    }
    if (halves_) step("unseen samples", [&] { all_low_on_unseen(); });
    const bool needless = nothing_needed();
    const bool ranks = ranks_layers() && (!options_.quick || (searches() && !needless));
    if (ranks && (options_.quick || (outputs_first && !needless))) step("local error", [&] { own_errors(); });
    // An option is one row of a table: the ranking of its layers is for its search alone.
    const bool by_propagated = !is_option_ || options_.search.mode == SearchMode::WorstFirst;
    if (outputs_first && !needless && by_propagated) {
      step("all-low comparison", [&] { report_.all_low = all_low(); });
    }
    if (repairs_ != nullptr && needless && repairs_->allow.empty() && repairs_->own.empty()) {
      note({{"no-repair-needed", {}}});
    } else if (repairs_ != nullptr) {
      if (explains_) {
        step("sensitivity", [&] { sensitivities(); });
        rank();
        optional_step("causes", [&] { causes(); });
      }
      step("repairs", [&] { repair(); });
      if ((no_cheaper_ = repairs_lead_nowhere())) return ended_early();
    }
    // Near the limit the file may miss after all: then the search asks for them.
    const bool searches_nothing = repairs_ == nullptr || is_option_ ? nothing_needed(/*most_damage=*/1) : needless;
    if (ranks && evidence_.alone.empty() && (!searches_nothing || options_.rank)) {
      step("sensitivity", [&] { sensitivities(); });
      note(notes_of_known(must_be_kept(*experiment_, evidence_), options_.precision.high));
    }
    rank();
    const bool missed = requirement() != nullptr && report_.all_low.passed == false;
    if (!needs_explanation(*experiment_, report_.layers, missed)) steps_.expect("causes", 0.1);
    if (searches()) {
      search();
      if (no_cheaper_) return ended_early();
      search_without_repairs();
    } else {
      optional_step("curve", [&] { curve(); });
    }
    if (report_.kept && !report_.kept->layers.empty()) {
      std::erase_if(report_.notes, [](const Note& note) { return note.code == "no-repair-needed"; });
    }
    if (const auto worse = worse_high_note(report_)) note({*worse});
    experiment_->forget_switched();
    if (!report_.final_figures && !report_.typed) write_and_verify();
    if (halves_) compare_on_unseen();
    if (repairs_ == nullptr && explains_ && !options_.quick && ranks_layers() && !sinks_.is_interrupted())
      optional_step("causes", [&] { causes(); });
    measured_->keep();
    const bool has_float_model = !typed_source_.quantized;  // without one no option is ever met
    if (repairs_ == nullptr && explains_ && !options_.quick && options_.alternatives > 0 && has_float_model) {
      write_answer_first();
      optional_step("options", [&] { alternatives(); });
      if (better_ && !sinks_.is_interrupted()) adopt(std::move(*better_));
    }
    if (!sinks_.is_interrupted() && !is_option_) optionally("the comparison of classes", [&] { compare_classes(); });
    if (!searches() && !report_.final_figures && !sinks_.is_interrupted() && sums_may_differ()) {
      optional_step("other accumulation", [&] { report_.other_sums = all_low_with_other_sums(); });
    }
    if (all_low_plan().target != Target::TensorRt && !sinks_.is_interrupted() && !is_option_ &&
        (report_.final_figures || !searches())) {
      step("saturated pairs", [&] { saturation(); });
    }
    if (options_.search.task.labels && !halves_ && report_.kept && report_.kept->file_test) {
      warn({"judged-on-same-samples", {}});
    }
    if (!sinks_.is_interrupted() && !experiment_->golden) {
      optionally("the check of Softmax inputs", [&] { look_in_front_of_softmaxes(); });
    }
    if (report_.other_sums || precision_.arithmetic != Arithmetic{}) note({sums_evidence()});
    for (const Note& doubt : doubts_) {
      if (std::ranges::find(report_.warnings, doubt) == report_.warnings.end()) warn(doubt);
    }
    const bool tries = !is_option_ && (!options_.quick || precision_.target == Target::OnnxRuntime);
    if (!sinks_.is_interrupted() && report_.final_figures && report_.typed && tries && job_ranks().first()) {
      optional_step("ONNX Runtime", [&] { try_on_onnxruntime(); });
    }
    if (!sinks_.is_interrupted() && times_models() && job_ranks().first()) {
      optional_step("latency", [&] { latency(); });
    }
    if (!sinks_.is_interrupted() && compiler_ && report_.typed) optional_step("compilation", [&] { compile(); });
    measured_->keep();
    if (!sinks_.is_interrupted() && !options_.quick && draws()) optional_step("pictures", [&] { pictures(); });
    measured_->keep();
    note_of_records();
    if (sinks_.is_interrupted()) say_interrupted();
    if (!sinks_.is_interrupted() && options_.sample_pictures) {
      optionally("pictures of samples", [&] { picture_samples(); });
    }
    report_.reference_from_file = typed_source_.quantized;
    if (report_.final_figures && report_.typed && job_ranks().first()) {
      writing([&] { report_.typed->model = typed_->sign(claims_of(report_), report_.files); });
    }
    watch_.stop();
    if (loaded_.partial) loaded_.partial->done();
    writing([&] { write_record(report_, options_.output); });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted && !refused_file_) throw;
    throw ended_by(error);
  }
  return report_;
}

void Diagnosis::plan_steps() {
  const bool scaled = std::ranges::any_of(options_.precision.low, needs_scale);
  steps_.add("load", 3);
  steps_.add("reference run", 2.5);
  if (scaled) steps_.add("calibration", 0.5);
  if (ranks_layers()) steps_.add("local error", 4.5);
  steps_.add("all-low comparison", 3.5);
  if (repairs_ == nullptr && ranks_layers()) steps_.add("sensitivity", 12);
  if (repairs_ != nullptr && explains_) {
    steps_.add("sensitivity", 12);
    steps_.add("causes", 3.5);
  }
  if (repairs_ != nullptr) steps_.add("repairs", 40);
  if (searches()) {
    steps_.add("search", 20);
  } else {
    steps_.add("curve", 9);
    if (!options_.output.empty()) steps_.add("verify", 4);
  }
  if (repairs_ == nullptr && explains_ && ranks_layers()) steps_.add("causes", 3.5);
  if (options_.precision.target == Target::OnnxRuntime) steps_.add("saturated pairs", 4);
  if (times_models()) steps_.add("latency", 10);
  if (options_.compile) steps_.add("compilation", 20);
  if (repairs_ == nullptr && explains_ && options_.alternatives > 0 && searches()) steps_.add("options", 150);
  if (draws()) steps_.add("pictures", 2.5);
}

/// Where a step does not go over all samples, or goes over them once for each layer.
void Diagnosis::expect_steps() {
  constexpr double kExplained = 8, kPictured = 4;  // samples
  const auto samples = static_cast<double>(std::max<std::size_t>(subject().samples->size(), 1));
  steps_.expect("sensitivity", 1 + sensitivities_->expected_sample_inferences() / samples);
  steps_.expect("causes", 1 + std::min(1.0, kExplained / samples) * 6);
  steps_.expect("pictures", 0.5 + std::min(1.0, kPictured / samples) * 4);
}

void Diagnosis::note_of_records() {
  if (const std::string taken = measured_->taken(); !taken.empty()) {
    note_once({"measurements-reused", {{"what", taken}}});
  }
  if (store_ != nullptr && !store_->refused().empty()) {
    note_once({"nothing-kept", {{"why", store_->refused()}}});
  }
  const GpuSide* const gpu = subject().runtime->gpu();
  if (gpu != nullptr && gpu->copies_inside() > 0) note_once({"gpu-copies", {{"tensors", gpu->copies_inside()}}});
}

void Diagnosis::load_model() {
  sources_.load_runtime_ahead();
  precision_ = run_network_scripts(options_.model, options_.precision, options_.measure.data, sources_,
                                   [&](const Note& note) { warn(note); });
  typed_source_ = options_.from ? take_over(*options_.from, options_.model, sources_, precision_)
                                : raise_typed_source(options_.model, sources_, precision_);
  if (precision_.ladder && (typed_source_.raised || typed_source_.quantized)) refuse_ladder_of(options_.model);
  loaded_ = load_judged(options_.model, preparation_of(precision_), sources_);
  loaded_.subject.labelled = options_.search.task.labels.has_value();
  sources_.forget_prepared();  // repairs change it: the old weights are not to stay
  report_.onnxruntime_version = subject().runtime->version();
  report_.on_gpu = subject().runtime->gpu() != nullptr;
  report_.model_file = options_.model.name();
  report_.model_sha256 = loaded_.original->sha256;
  report_.data = loaded_.samples->description();
  report_.samples = loaded_.samples->size();
  report_.random_data = loaded_.samples->is_random();
  if (loaded_.calibration) report_.calibrated_on_evaluation_samples = false;
  for (const Note& note : loaded_.warnings) warn(note);
  if (precision_.target == Target::TensorRt) {
    if (const auto refused = shared_names_note(*loaded_.original, loaded_.samples->at(0))) warn(*refused);
  }
  report_.notes = typed_source_.notes;
  note(loaded_.notes);
  note(loaded_.output_notes);
  AssignedFormats assigned = assign_formats(subject().model, subject().layers, precision_);
  if (assigned.nothing_gains) {
    throw Error(ErrorCode::NothingToLower,
                fmt::format("{}: ONNX Runtime's INT8 kernels would make no layer of it faster", options_.model.name()),
                "stay in FP32; ‹even-if-slower› quantizes them anyway");
  }
  for (const Note& note : assigned.warnings) warn(note);
  if (assigned.candidates.empty()) {
    throw Error(ErrorCode::NothingToLower,
                fmt::format("{}: no layer can run in the requested formats", options_.model.name()),
                holds_quantized_values(*loaded_.original)
                    ? "it stores quantized weights: pass its float model with ‹float›"
                    : "list the layers with: ‹vernier inspect model MODEL --show layers›");
  }
  if (precision_.ladder) keep_formats_of(assigned.plan, report_.low);
  report_.excluded = static_cast<std::size_t>(std::ranges::count_if(assigned.skipped, [&](const SkippedLayer& layer) {
    return layer.chosen && !typed_source_.high.contains(layer.name);
  }));
  objective_ = chosen_objective(options_, sources_, *loaded_.original, loaded_.views);
  experiment_.emplace(subject(), requirement(), std::move(assigned.plan), std::move(assigned.candidates));
  measured_.emplace(*experiment_, store_);
  sensitivities_.emplace(*experiment_, evidence_, *measured_);
  ranges_.emplace(options_, loaded_, *experiment_);
  typed_.emplace(options_, sources_, loaded_, *experiment_);
  refuse_wrong_journal();
  report_.reference = proven_ != nullptr ? *proven_ : prove_prepared(loaded_);
  note(notes_of_unmeasured(subject().layers, all_low_plan()));
  note(notes_of_loops(subject().model, subject().layers));
}

/// As far as is known by now: rewriting gives the network another hash.
void Diagnosis::refuse_wrong_journal() const {
  Journal::Identity identity;
  const bool rewritten = repairs_ != nullptr || (typed_source_.raised && report_.data_sha256.empty());
  if (!rewritten) identity["model_sha256"] = all_low_plan().model_sha256;
  if (!report_.data_sha256.empty()) identity["data_sha256"] = report_.data_sha256;
  require_journal_of(options_.search.journal, identity, options_.search.resume);
}

std::optional<Note> Diagnosis::warning_of_inputs() {
  const std::string of = store_ == nullptr ? std::string() : input_warning_identity(loaded_);
  const std::string kept =
      words_kept_in(store_.get(), of.empty() ? of : "inputs, typed " + subject().runtime->version() + of, [&] {
        const std::optional<Note> found = input_warning(loaded_, sinks_, &experiment_->reference.outputs);
        return found ? json_text(json_of(*found)) : "";
      });
  return kept.empty() ? std::nullopt : std::optional(parse_as<Note>(kept, "warning of inputs"));
}

void Diagnosis::reference() {
  const bool from_cache = ranges_->read_cache();
  if (from_cache) {
    if (ranges_->cached()->lacking.empty()) report_.calibrated_on_evaluation_samples = false;
    report_.scheme = scheme_text(options_.precision, ranges_->cached()->scheme_words);
  }
  experiment_->reference = ranges_->run_reference();
  optionally("the check of the inputs", [&] {
    if (const std::optional<Note> found = warning_of_inputs()) warn(*found);
  });
  expect_steps();
  report_.data_sha256 = experiment_->reference.data_sha256;
  for (const InputInfo& input : model_inputs(*loaded_.original)) {
    const auto seen = experiment_->reference.inputs.find(input.name);
    if (seen == experiment_->reference.inputs.end() || std::ranges::none_of(input.shape, [](auto d) { return d < 0; }))
      continue;
    report_.open_inputs.push_back({input.name, seen->second.first, seen->second.least, seen->second.most});
  }
  if (!options_.search.golden.empty()) {
    experiment_->golden = golden_reference(subject(), experiment_->reference, options_.search.golden);
  }
  for (const Note& note : require_comparable(experiment_->reference.totals, requirement())) warn(note);
  if (const auto alike = alike_samples_note(subject())) warn(*alike);
}

void Diagnosis::calibrate() {
  const FilledScales filled = ranges_->fill(precision_);
  if (const auto resumed = resumed_note(loaded_)) note({*resumed});
  for (const Note& note : filled.warnings) warn(note);
  note(filled.notes);
  note(keep_scales(typed_source_, subject().model, experiment_->mutable_plan()));
  if (typed_source_.raised) writing([&] { typed_->write_float(experiment_->mutable_plan(), report_.files); });
  refuse_wrong_journal();
  measured_->begin(report_.data_sha256);
  teacher_.emplace(loaded_, precision_, ranges_->cached() ? &*ranges_->cached() : nullptr, typed_source_);
  if (!cross_fits()) return;
  halves_ = taught_first_ != nullptr ? taught_first_ : std::make_shared<CrossFit>(*teacher_, subject());
  judge_on_unseen();
  report_.cross_fit = true;
}

void Diagnosis::own_errors() {
  measured_->build_ahead(match_layer_outputs(subject()));
  for (LayerError& error : measured_->own_errors()) {
    evidence_.own[error.layer] = std::move(error);
  }
  measured_->keep();
}

void Diagnosis::sensitivities() {
  // A search ranks by them, and measures them after all where they lead it astray. What becomes the answer gets its
  // own.
  if (is_option_ && evidence_.presumed.empty() &&
      presume(*found_first_, sensitivities_->measurable(), requirement(), evidence_))
    return;
  // Without a search the ranking is the answer. Of a repaired network little is left to keep, by layers that are alike.
  const bool all = !searches() || options_.rank || repairs_ != nullptr;
  all ? sensitivities_->measure() : sensitivities_->measure_worst();
  note_left_out();
}

void Diagnosis::note_left_out() {
  std::erase_if(report_.notes, [](const Note& note) {
    return note.code == "sensitivities-of-the-worst" || note.code == "sensitivities-left-out";
  });
  if (const auto left_out = sensitivities_->left_out()) note_once(*left_out);
}

void Diagnosis::run_all_low(const std::vector<Match>& matches) {
  measured_->run_all_low(matches);
  for (std::size_t i = 0; i < matches.size(); ++i) {
    evidence_.propagated[matches[i].ref] = experiment_->all_low().errors[i];
  }
}

RunFigures Diagnosis::all_low(bool of_layers) {
  const std::vector<Match> matches = of_layers ? match_layer_outputs(subject()) : std::vector<Match>();
  run_all_low(matches);
  if (!experiment_->all_high_is_reference()) {
    const TrialResult high = experiment_->run_keeping(experiment_->candidate_names(), requirement(),
                                                      all_samples(subject()), /*early_stop=*/false);
    report_.all_high = figures_of(subject(), high.outputs, requirement());
  }
  measured_->keep();
  return figures_of(subject(), experiment_->all_low().outputs, requirement());
}

RunFigures Diagnosis::given_file() {
  VerifyOptions options;
  options.float_model = options_.model;
  options.typed_model = *options_.from;
  options.measure = options_.measure;
  // As verify() decides of it: by its figure on these samples.
  if (options.measure.requirement) options.measure.requirement->confidence = 0.5;
  options.target = options_.precision.target;
  JobSinks quiet = sinks_;
  quiet.warning = {};  // this job says them itself
  Model file = as_typed_file(*sources_.model(*options_.from));
  give_float_interface(file, *sources_.model(options_.model));
  return verify_model(file, options, sources_, quiet).figures;
}

/// Of the file that was given, and of the network if it were written as it stands.
std::vector<LostLimitFacts> Diagnosis::lost_limits() {
  std::vector<LostLimitFacts> lost;
  if (precision_.target != Target::TensorRt) return lost;
  for (const std::string& layer : typed_source_.lost_limits) lost.push_back({layer, /*given=*/true});
  if (!may_lose_limits(subject().model)) return lost;
  for (const std::string& layer : typed_->lowered(all_low_plan()).spelled_limits) {
    if (std::ranges::find(lost, layer, &LostLimitFacts::layer) == lost.end()) lost.push_back({layer, /*given=*/false});
  }
  return lost;
}

void Diagnosis::causes() {
  std::set<std::string> kept;
  if (report_.kept) kept.insert(report_.kept->layers.begin(), report_.kept->layers.end());
  ExplainOptions how;
  how.own = options_.causes;
  how.missed = requirement() != nullptr && report_.all_low.passed == false;
  for (const OutputFigure& output : report_.all_low.outputs) {
    if (output.top1_agreement) how.top1_agreement = std::min(*output.top1_agreement, how.top1_agreement.value_or(1));
  }
  for (const OutputFigure& output : unseen_low_ ? unseen_low_->outputs : std::vector<OutputFigure>{}) {
    how.unseen_noise = std::max(how.unseen_noise, noise_of_db(output.sqnr_db));
  }
  how.lost_limits = lost_limits();
  report_.explanation = explain(*measured_, evidence_, report_.layers, kept, how);
}

DiagnoseReport diagnose(const DiagnoseOptions& options, const JobSinks& sinks) {
  return Diagnosis(with_ladder(options), sinks, /*explains=*/true, nullptr).run();
}

DiagnoseReport fix(const FixOptions& options, const JobSinks& sinks) {
  return Diagnosis(with_ladder(options), sinks, /*explains=*/true, &options.repair).run();
}

DiagnoseReport search_precision(const DiagnoseOptions& options, const JobSinks& sinks) {
  return Diagnosis(with_ladder(options), sinks, /*explains=*/false, nullptr).run();
}

}  // namespace vernier
