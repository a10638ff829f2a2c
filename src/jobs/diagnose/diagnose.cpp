// The main job. run() below reads as the flow: each step one call, each timed.

#include "vernier/diagnose.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analysis/figures.h"
#include "analysis/own_error.h"
#include "analysis/pictures.h"
#include "analysis/some_samples.h"
#include "analysis/trials.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/load.h"
#include "jobs/common/output_files.h"
#include "jobs/common/stopwatch.h"
#include "jobs/common/typed_file.h"
#include "jobs/data_check/check_inputs.h"
#include "jobs/diagnose/alternatives.h"
#include "jobs/diagnose/describe.h"
#include "jobs/diagnose/diagnosis_files.h"
#include "jobs/diagnose/diagnosis_notes.h"
#include "jobs/diagnose/diagnosis_ranges.h"
#include "jobs/diagnose/engine_side.h"
#include "jobs/diagnose/engine_trials.h"
#include "jobs/diagnose/explain.h"
#include "jobs/diagnose/latency.h"
#include "jobs/diagnose/layer_times.h"
#include "jobs/diagnose/network_nodes.h"
#include "jobs/diagnose/network_variant.h"
#include "jobs/diagnose/outside_check.h"
#include "jobs/diagnose/prove_prepared.h"
#include "jobs/diagnose/repair_network.h"
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
#include "plan/engine_sums.h"
#include "plan/scheme.h"
#include "plan/simulate_typed.h"
#include "vernier/arithmetic.h"
#include "vernier/calibrate.h"
#include "vernier/error.h"
#include "vernier/fix.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/report/causes.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/engine.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"
#include "vernier/run.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// An engine computes otherwise, float16 sums for example, and other samples are harder: 10 dB.
constexpr double kMostRoom = 10;

class Diagnosis {
 public:
  /// `repairs` null: none is tried. `deadline`: this is one of several ways that are compared; it says what it has by
  /// then.
  Diagnosis(const DiagnoseOptions& options, const JobSinks& sinks, bool explains, const RepairOptions* repairs,
            std::optional<Deadline> deadline = {})
      : options_(options),
        explains_(explains),
        repairs_(repairs),
        deadline_(deadline),
        sinks_(sinks),
        watch_(report_.phases),
        sources_(options.measure, sinks) {}

  DiagnoseReport run() {
    describe(options_, report_);
    keep_inputs_safe(options_);
    if (options_.compile && job_ranks().first()) {
      compiler_.emplace(for_target(*options_.compile, options_.precision.target), sinks_);
    }
    if (options_.confirm_on) require_engine(options_, sinks_);
    step("load", [&] { load_model(); });
    const OutputFolder folder(options_.output);
    try {
      step("reference run", [&] { reference(); });
      step("calibration", [&] { calibrate(); });
      if (ranks_layers()) step("own error", [&] { own_errors(); });
      step("all-low lock-step", [&] { report_.all_low = all_low(); });
      if (judges_apart()) step("all low, judged", [&] { judged_low_ = typed_->judged(all_low_plan()); });
      if (repairs_ != nullptr) {
        if (explains_) {
          step("sensitivity", [&] { sensitivities(); });
          rank();
          step("causes", [&] { causes(); });
        }
        step("repairs", [&] { repair(); });
      }
      if (ranks_layers() && evidence_.alone.empty()) {
        step("sensitivity", [&] { sensitivities(); });
        note(notes_of_known(must_be_kept(*experiment_, evidence_), options_.precision.high));
      }
      rank();
      if (searches()) {
        search();
        search_without_repairs();
      } else {
        step("curve", [&] { curve(); });
      }
      if (!report_.final_figures && !report_.typed) write_and_verify();
      if (!searches() && !report_.final_figures && !sinks_.is_interrupted() && sums_may_differ()) {
        step("other sums", [&] { report_.other_sums = all_low_with_other_sums(); });
      }
      if (judges_apart() && report_.final_figures) compare_on_judges();
      if (report_.other_sums || precision_.arithmetic != Arithmetic{}) note({kSumsEvidence});
      for (const std::string& text : doubts_) {
        if (std::ranges::find(report_.warnings, text) == report_.warnings.end()) warn(text);
      }
      if (repairs_ == nullptr && explains_ && ranks_layers() && !sinks_.is_interrupted())
        step("causes", [&] { causes(); });
      if (!sinks_.is_interrupted() && options_.latency && job_ranks().first()) step("latency", [&] { latency(); });
      if (!sinks_.is_interrupted() && compiler_ && report_.typed) step("compilation", [&] { compile(); });
      if (repairs_ == nullptr && explains_ && options_.alternatives > 0) step("options", [&] { alternatives(); });
      if (!sinks_.is_interrupted() && !options_.output.empty()) step("pictures", [&] { pictures(); });
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Interrupted) throw;
      watch_.stop();
      rank();
      report_.interrupted = true;
      warn("interrupted: what was not measured is absent");
      write_record(report_, options_.output);
      throw;
    }
    watch_.stop();
    write_record(report_, options_.output);
    return report_;
  }

 private:
  const Requirement* requirement() const {
    return options_.measure.requirement ? &*options_.measure.requirement : nullptr;
  }
  /// A list that is walked needs no sensitivities of single layers.
  bool ranks_layers() const { return !searches() || options_.search.mode == SearchMode::Minimal; }
  bool searches() const { return requirement() != nullptr || objective_ != nullptr || options_.search.check; }

  template <class Body>
  void step(const std::string& name, const Body& body) {
    watch_.phase(name);
    body();
    say_seconds();
  }

  /// The claim is measured on samples that nothing was chosen by.
  bool judges_apart() const { return report_.shares && report_.shares->judgement > 0; }

  /// Ends the phase that runs, if any.
  void say_seconds() {
    if (!watch_.stop() || !sinks_.info) return;
    sinks_.info(fmt::format("{}: {:.2f} s", report_.phases.back().phase, report_.phases.back().seconds));
  }

  void warn(const std::string& text) {
    report_.warnings.push_back(text);
    if (sinks_.warning) sinks_.warning(text);
  }

  void note(const std::vector<std::string>& texts) {
    report_.notes.insert(report_.notes.end(), texts.begin(), texts.end());
  }

  void load_model() {
    precision_ = run_network_scripts(options_.model, options_.precision, options_.measure.data, sources_,
                                     [&](const std::string& text) { warn(text); });
    typed_source_ = raise_typed_source(options_.model, sources_, precision_);
    loaded_ = load_judged(options_.model, preparation_of(precision_), sources_);
    sources_.forget_prepared();  // repairs change it: the old weights are not to stay
    report_.onnxruntime_version = subject().runtime->version();
    report_.model_file = options_.model.string();
    report_.model_sha256 = loaded_.original->sha256;
    report_.data = loaded_.samples->description();
    report_.samples = loaded_.samples->size();
    report_.random_data = loaded_.samples->is_random();
    if (const auto parts = sources_.parts(*loaded_.original)) {
      report_.shares = SampleShares{parts->calibration.size(), parts->search.size(), parts->judgement.size()};
    }
    if (loaded_.calibration) report_.calibrated_on_evaluation_samples = false;
    for (const std::string& text : loaded_.warnings) warn(text);
    if (const std::string text = input_warning(loaded_, sinks_); !text.empty()) warn(text);
    report_.notes = typed_source_.notes;
    note(loaded_.notes);
    AssignedFormats assigned = assign_formats(subject().model, subject().layers, precision_);
    if (assigned.nothing_gains) {
      throw Error(ErrorKind::Input,
                  fmt::format("{}: ONNX Runtime would run no layer of it faster in int8, by the times of its kernels",
                              options_.model.string()),
                  "stay in float32; --even-if-slower quantizes them all the same");
    }
    for (const std::string& text : assigned.warnings) warn(text);
    if (assigned.candidates.empty()) {
      throw Error(ErrorKind::Input, fmt::format("{}: no layer can run in the formats asked", options_.model.string()),
                  "list the layers with: vernier inspect model MODEL --show layers");
    }
    report_.excluded = static_cast<std::size_t>(std::ranges::count_if(assigned.skipped, [&](const SkippedLayer& layer) {
      return layer.chosen && !typed_source_.high.contains(layer.name);
    }));
    objective_ =
        chosen_objective(options_, model_inputs(*loaded_.original), subject().samples->size(), loaded_.views, sinks_);
    experiment_.emplace(subject(), requirement(), std::move(assigned.plan), std::move(assigned.candidates));
    sensitivities_.emplace(*experiment_, evidence_);
    ranges_.emplace(options_, loaded_, *experiment_);
    typed_.emplace(options_, sources_, loaded_, *experiment_);
    report_.reference = prove_prepared(loaded_);
    note(notes_of_unmeasured(subject().layers, all_low_plan()));
  }

  void reference() {
    const bool from_cache = ranges_->read_cache();
    if (from_cache) {
      report_.calibrated_on_evaluation_samples = false;
      report_.scheme = scheme_text(options_.precision, ranges_->cached()->scheme_words);
    }
    experiment_->reference = ranges_->run_reference();
    report_.data_sha256 = experiment_->reference.data_sha256;
    if (!options_.search.golden.empty()) {
      experiment_->golden = golden_reference(subject(), experiment_->reference, options_.search.golden);
    }
    for (const auto& [name, stats] : experiment_->reference.totals) {
      require_comparable(name, stats.pooled);
      if (stats.pooled.ref_nonfinite > 0) {
        warn(fmt::format("the float model itself gives {} values that are not finite in output '{}': they are left out",
                         stats.pooled.ref_nonfinite, printable(name)));
      }
    }
  }

  void calibrate() {
    const FilledScales filled = ranges_->fill(precision_);
    for (const std::string& text : filled.warnings) warn(text);
    note(filled.notes);
    note(keep_scales(typed_source_, experiment_->mutable_plan()));
    if (typed_source_.raised) typed_->write_float(experiment_->mutable_plan(), report_.files);
  }

  void own_errors() {
    for (LayerError& error : own_error(subject(), all_low_plan(), experiment_->weights)) {
      evidence_.own[error.layer] = std::move(error);
    }
  }

  void sensitivities() {
    sensitivities_->measure();
    const std::string left_out = sensitivities_->left_out();
    if (!left_out.empty() && std::ranges::find(report_.notes, left_out) == report_.notes.end()) note({left_out});
  }

  RunFigures all_low() {
    const std::vector<Match> matches = match_layer_outputs(subject());
    experiment_->run_all_low(matches);
    for (std::size_t i = 0; i < matches.size(); ++i) {
      evidence_.propagated[matches[i].ref] = experiment_->all_low().errors[i];
    }
    if (!experiment_->all_high_is_reference()) {
      const TrialResult high = experiment_->run_keeping(experiment_->candidate_names(), requirement(),
                                                        all_samples(subject()), /*early_stop=*/false);
      report_.all_high = figures_of(subject(), high.outputs, requirement());
    }
    return figures_of(subject(), experiment_->all_low().outputs, requirement());
  }

  /// Of the network as it is: before it is repaired, or once the layers to keep are known.
  void causes() {
    std::set<std::string> kept;
    if (report_.kept) kept.insert(report_.kept->layers.begin(), report_.kept->layers.end());
    ExplainOptions how;
    how.missed = requirement() != nullptr && report_.all_low.passed == false;
    for (const OutputFigure& output : report_.all_low.outputs) {
      if (output.top1_agreement) how.top1_agreement = std::min(*output.top1_agreement, how.top1_agreement.value_or(1));
    }
    report_.explanation = explain(*experiment_, evidence_, report_.layers, kept, how);
  }

  /// From here on the repaired network is the one that layers are kept in; it is judged against the float model as
  /// ever.
  void repair() {
    RepairedNetwork repaired =
        repair_network(loaded_, *experiment_, precision_, *repairs_, ranges_->cached().has_value());
    if (!report_.explanation) report_.explanation.emplace();
    report_.explanation->repairs = std::move(repaired.tried);
    std::erase_if(report_.explanation->proposals, [&](const std::string& proposal) {
      return std::ranges::find(report_.explanation->repairs, proposal, &RepairTried::id) !=
             report_.explanation->repairs.end();
    });
    note(repaired.notes);
    if (!repaired.changed) return;
    other_ = variant_of(subject(), *experiment_, evidence_);
    subject().model = std::move(repaired.state.subject.model);
    subject().layers = std::move(repaired.state.subject.layers);
    for (const auto& [tensor, shape] : first_shapes(loaded_, repaired.state.reference)) {
      experiment_->reference.shapes.insert_or_assign(tensor, shape);
    }
    repaired.state.plan.scheme += "; repaired";
    if (repaired.rewritten) typed_->write_float(repaired.state.plan, report_.files);
    experiment_->adopt(std::move(repaired.state.plan), repaired.state.candidates);
    evidence_ = {};
    own_errors();
    report_.repaired = all_low();
    if (judges_apart()) judged_repaired_ = typed_->judged(all_low_plan());
  }

  /// All figures that stand beside the written file's are of the same samples.
  void compare_on_judges() {
    report_.all_low = *judged_low_;
    if (report_.repaired) report_.repaired = *judged_repaired_;
  }

  /// A repair that takes most of a layer's error away can cost the output another layer. Where layers have to be kept
  /// in spite of the repairs, the network as it was is searched too, and the answer is the one that keeps less.
  void search_without_repairs() {
    if (!other_ || report_.kept->layers.empty() || sinks_.is_interrupted() || options_.search.check) return;
    if (deadline_) return;  // that is another of the ways
    const KeptSetReport repaired = *report_.kept;
    const bool repaired_meets = met(report_);
    change_network();
    search();
    if (met(report_) && (!repaired_meets || report_.kept->cost < repaired.cost)) {
      forget_repairs(repaired);
      return;
    }
    const std::size_t without = report_.kept->layers.size();
    const bool meets = met(report_);
    change_network();
    report_.kept = repaired;
    mark_kept();
    write_and_verify();
    note({meets ? fmt::format("without the repairs {} would be kept", plural(without, "layer"))
                : "without the repairs the requirement is missed"});
  }

  /// Between the repaired network and the one without repairs.
  void change_network() {
    exchange(*other_, subject(), *experiment_, evidence_);
    rank();
  }

  void forget_repairs(const KeptSetReport& repaired) {
    note({fmt::format("the repairs were taken back: with them {} would be kept, without them {}",
                      plural(repaired.layers.size(), "layer"), report_.kept->layers.size())});
    take_back(report_.explanation->repairs, "taken back: without the repairs fewer layers are kept");
    report_.repaired.reset();
    if (typed_source_.raised) {
      typed_->write_float(experiment_->mutable_plan(), report_.files);
    } else if (const auto file = report_.files.find("float"); file != report_.files.end()) {
      std::filesystem::remove(file->second);
      report_.files.erase(file);
    }
  }

  void rank() {
    if (experiment_ && report_.network.empty()) report_.network = network_nodes(subject().model, subject().layers);
    if (experiment_) report_.layers = ranked_rows(*experiment_, evidence_);
  }

  /// The written file has the last word: what misses in it is searched again with less allowance.
  void search() {
    watch_.phase("search");
    std::optional<TestRow> file_test;
    SearchRequest request;
    request.options = options_.search;
    if (deadline_) request.options.max_seconds = seconds_left();
    request.objective = objective_.get();
    request.objective_text = objective_text(options_, objective_.get());
    request.measure_more = [&] { return sensitivities_->measure_more(); };
    request.rank = [&] {
      say_seconds();
      step("sensitivity", [&] { sensitivities(); });
      watch_.phase("minimal search");
    };
    request.confirm = [&](const KeptSetReport& found) {
      say_seconds();
      report_.kept = found;
      write_and_verify();
      double damage = std::numeric_limits<double>::quiet_NaN();
      if (objective_ != nullptr && !sinks_.is_interrupted()) {
        file_test = typed_->judged_by(*objective_, found.layers);
        damage = file_test->damage;
      } else if (report_.final_figures && report_.final_figures->damage) {
        damage = *report_.final_figures->damage;
        const bool on_engine_alone = options_.trials_on_engine && report_.engine;
        if (on_engine_alone || (report_.engine && !(*report_.engine->figures.damage <= damage))) {
          damage = *report_.engine->figures.damage;
        }
      }
      if (!(damage <= 1)) watch_.phase("search");
      return damage;
    };
    if (options_.confirm_on || judges_apart()) request.most_room = kMostRoom;
    std::optional<EngineTrials> trials;
    if (options_.trials_on_engine) {
      trials.emplace(options_, loaded_, *typed_, sinks_);
      request.engine = trials->engine();
      request.external = [&](const std::vector<std::string>& kept) { return trials->judge(kept); };
    }
    std::optional<OutsideCheck> check;
    if (options_.search.check) {
      if (job_ranks().first()) check.emplace(options_, report_, request.objective_text, *typed_, sinks_);
      request.external = [&](const std::vector<std::string>& kept) { return check->judge(kept); };
    }
    LayerTimes times;
    if (options_.search.cost == CostUnit::Time) {
      const TypedModel low = typed_->lowered(all_low_plan());
      times = times_of_first(job_ranks(), [&] {
        if (times_on_engine(options_)) {
          std::string engine;
          LayerTimes there = times_on_engine(options_, loaded_, low.model, sinks_, engine);
          report_.notes.push_back("times of layers are those of " + engine);
          return there;
        }
        return measure_layer_times(subject().runtime, *loaded_.original, low.model, subject().samples->at(0));
      });
      request.times = &times;
    }
    report_.kept = find_kept_set(*experiment_, evidence_, request, sinks_);
    report_.kept->file_test = file_test;
    // The reference run and all-low, own errors (about one more), sensitivities of single layers by their share,
    // trials.
    const std::size_t whole = (ranks_layers() ? 3 : 2) * subject().samples->size();
    report_.kept->sample_inferences += whole + static_cast<std::size_t>(std::ceil(sensitivities_->sample_inferences()));
    say_seconds();
    mark_kept();
  }

  /// Never none: 0 would be no limit.
  double seconds_left() const {
    const double left = std::chrono::duration<double>(*deadline_ - std::chrono::steady_clock::now()).count();
    const double own = options_.search.max_seconds;
    return std::max(own > 0 ? std::min(own, left) : left, 1e-3);
  }

  void mark_kept() {
    const std::set<std::string> kept(report_.kept->layers.begin(), report_.kept->layers.end());
    for (LayerRow& row : report_.layers) row.kept = kept.contains(row.name);
  }

  void curve() { report_.curve = quality_curve(*experiment_, evidence_, report_.layers); }

  Plan final_plan() const { return report_.kept ? experiment_->plan_keeping(report_.kept->layers) : all_low_plan(); }

  void write_and_verify() {
    report_.final_figures.reset();
    report_.engine.reset();
    report_.other_sums.reset();
    // No choice of layers helps: a file with everything in the high format would pass for an answer.
    if (report_.kept && report_.kept->end == SearchEnd::Impossible) return;
    step("typed model", [&] { report_.typed = typed_->write(final_plan(), report_.files); });
    if (options_.output.empty() && !report_.kept) return;  // nothing to claim: all low was measured already
    if (sinks_.is_interrupted()) return;
    step("verify", [&] {
      const VerifyReport verified = typed_->verify();
      report_.final_figures = verified.figures;
      report_.other_sums = verified.other_sums;
      report_.engine = verified.engine;
      doubts_ = verified.warnings;
    });
  }

  /// For TensorRT, which is measured to sum otherwise than simulations assume.
  bool sums_may_differ() const {
    return all_low_plan().target == Target::TensorRt &&
           std::ranges::any_of(all_low_plan().layers, [](const PlannedLayer& layer) {
             return layer.format == Format::Float16 || layer.format == Format::BFloat16;
           });
  }

  OtherSums all_low_with_other_sums() {
    Plan plan = all_low_plan();
    plan.arithmetic = other_arithmetic(plan.arithmetic);
    const TrialResult run = run_trial(subject(), plan, experiment_->judged_against(), experiment_->weights,
                                      requirement(), all_samples(subject()), /*early_stop=*/false);
    return {plan.arithmetic.accumulate, figures_of(subject(), run.outputs, requirement())};
  }

  void latency() {
    LatencyModels models;
    models.original = loaded_.original.get();
    TypedModel low;
    if (has_integer_kernels(options_.precision.low)) {
      low = typed_->lowered(all_low_plan());
      models.low = &low.model;
      if (report_.kept && !report_.kept->layers.empty())
        models.repaired = &typed_->model();  // else the two are one network
    }
    report_.latency = measure_latency(subject(), models, options_.precision.target);
  }

  void compile() {
    report_.compiled = compile_typed(*compiler_, loaded_, all_low_plan(), *typed_);
    if (const auto file = report_.files.find("model"); file != report_.files.end())
      report_.compiled->file = file->second;
    if (!report_.compiled->refused.empty())
      warn("the engine made nothing of the typed model: " + report_.compiled->refused);
  }

  void alternatives() {
    report_.alternatives = measure_alternatives(
        options_, report_,
        [](const DiagnoseOptions& options, const RepairOptions* repairs, Deadline deadline, const JobSinks& sinks) {
          return Diagnosis(options, sinks, /*explains=*/false, repairs, deadline).run();
        },
        sinks_);
  }

  void pictures() {
    std::vector<std::string> ranked;
    for (const LayerRow& row : report_.layers) ranked.push_back(row.name);
    std::vector<std::size_t> samples = experiment_->few_hard_samples();
    samples.resize(std::min<std::size_t>(samples.size(), 4));
    report_.pictures =
        layer_pictures(subject(), all_low_plan(), experiment_->weights, ranked, samples, experiment_->reference.shapes);
  }

  Subject& subject() { return loaded_.subject; }
  const Subject& subject() const { return loaded_.subject; }
  const Plan& all_low_plan() const { return experiment_->all_low_plan(); }

  const DiagnoseOptions& options_;
  const bool explains_;
  const RepairOptions* const repairs_;
  const std::optional<Deadline> deadline_;
  const JobSinks& sinks_;
  DiagnoseReport report_;
  Stopwatch watch_;
  PrecisionOptions precision_;  // with what network scripts set
  Sources sources_;
  TypedSource typed_source_;
  Loaded loaded_;
  std::optional<Experiment> experiment_;   // from load_model() on
  std::optional<DiagnosisRanges> ranges_;  // from load_model() on
  Evidence evidence_;
  std::optional<SingleSensitivities> sensitivities_;
  std::optional<NetworkVariant> other_;                     // the network without repairs, where they changed it
  std::optional<RunFigures> judged_low_, judged_repaired_;  // everything low, on the samples that judge
  std::vector<std::string> doubts_;                         // of the last verification
  std::unique_ptr<Objective> objective_;                    // null: the requirement decides, if there is one
  std::optional<TypedResult> typed_;                        // from load_model() on
  std::optional<Compiler> compiler_;                        // with --compile, on the first rank
};

}  // namespace

DiagnoseReport diagnose(const DiagnoseOptions& options, const JobSinks& sinks) {
  return Diagnosis(options, sinks, /*explains=*/true, nullptr).run();
}

DiagnoseReport fix(const FixOptions& options, const JobSinks& sinks) {
  return Diagnosis(options, sinks, /*explains=*/true, &options.repair).run();
}

DiagnoseReport search_precision(const DiagnoseOptions& options, const JobSinks& sinks) {
  return Diagnosis(options, sinks, /*explains=*/false, nullptr).run();
}

}  // namespace vernier
