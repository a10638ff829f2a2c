// How a diagnosis finds what to keep: the network with its repairs and without them, the search, and the file that has
// the last word.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/some_samples.h"
#include "analysis/trials.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/diagnose/describe.h"
#include "jobs/diagnose/diagnosis.h"
#include "jobs/diagnose/diagnosis_ranges.h"
#include "jobs/diagnose/engine_side.h"
#include "jobs/diagnose/engine_trials.h"
#include "jobs/diagnose/layer_times.h"
#include "jobs/diagnose/network_variant.h"
#include "jobs/diagnose/outside_check.h"
#include "jobs/diagnose/repair_network.h"
#include "jobs/diagnose/single_sensitivities.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/search/chosen_objective.h"
#include "jobs/search/costs.h"
#include "jobs/search/experiment.h"
#include "jobs/search/judge.h"
#include "jobs/search/kept_set.h"
#include "jobs/verify/pair_saturation.h"
#include "plan/engine_sums.h"
#include "plan/rules/rules.h"
#include "plan/target.h"
#include "vernier/arithmetic.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/report/causes.h"
#include "vernier/report/engine.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/report/verify.h"
#include "vernier/run.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// An engine computes otherwise, float16 sums for example: 10 dB.
constexpr double kMostRoom = 10;
/// What a search finds on samples that did not teach, and what the written file is on those that did, may differ as far
/// as few samples can: 40 dB.
constexpr double kMostRoomForOthers = 1e4;

/// What a second search may still spend; false: nothing is left.
bool take_off(std::size_t evaluations, double seconds, SearchOptions& left) {
  if (left.max_evaluations != 0) {
    if (evaluations >= left.max_evaluations) return false;
    left.max_evaluations -= evaluations;
  }
  if (left.max_seconds > 0) {
    if (seconds >= left.max_seconds) return false;
    left.max_seconds -= seconds;
  }
  return true;
}

}  // namespace

void Diagnosis::repair() {
  LabelCheck labels;
  const bool as_given =
      std::ranges::all_of(loaded_.views, [](const JudgedView& view) { return view.part.has_value(); });
  if (const auto& wanted = options_.search.task.labels; wanted && as_given) {
    labels = [check = label_check(*wanted, sources_, *loaded_.original),
              whole = subject().judged.size() - subject().parts.size()](std::size_t sample, std::vector<Tensor> got) {
      got.resize(whole);
      return check(sample, got);
    };
  }
  // One way of several only has to get there; fix() is asked for all that helps.
  const bool may_end = is_option_ && objective_ == nullptr && !options_.search.check && !options_.confirm_on;
  RepairedNetwork repaired =
      repair_network(loaded_, *experiment_, precision_, *repairs_, *teacher_, ranges_->cached().has_value(),
                     halves_.get(), labels, may_end ? requirement() : nullptr);
  show_repairs(std::move(repaired.tried), std::move(repaired.notes));
  if (!repaired.changed) return;
  rewritten_ = repaired.rewritten;
  other_ = variant_of(subject(), *experiment_, evidence_, halves_);
  halves_ = std::move(repaired.halves);
  subject().model = std::move(repaired.state.subject.model);
  subject().layers = std::move(repaired.state.subject.layers);
  for (const auto& [tensor, shape] : first_shapes(loaded_, repaired.state.reference)) {
    experiment_->reference.shapes.insert_or_assign(tensor, shape);
  }
  repaired.state.plan.scheme += "; repaired";
  if (repaired.rewritten) writing([&] { typed_->write_float(repaired.state.plan, report_.files); });
  measured_->keep();
  experiment_->adopt(std::move(repaired.state.plan), repaired.state.candidates);
  judge_on_unseen();
  measured_->begin(report_.data_sha256);
  evidence_ = {};
  if (!is_option_) own_errors();
  report_.repaired = all_low(/*of_layers=*/!is_option_);
  if (halves_) unseen_repaired_ = on_unseen(all_low_plan());
  if (is_option_ && !nothing_needed(/*most_damage=*/1)) own_errors();  // for the search
}

void Diagnosis::show_repairs(std::vector<RepairTried> tried, std::vector<Note> notes) {
  if (!report_.explanation) report_.explanation.emplace();
  report_.explanation->repairs = std::move(tried);
  std::erase_if(report_.explanation->proposals, [&](const std::string& proposal) {
    return std::ranges::find(report_.explanation->repairs, proposal, &RepairTried::id) !=
           report_.explanation->repairs.end();
  });
  note(notes);
  repair_notes_ = std::move(notes);
}

void Diagnosis::search_without_repairs() {
  if (!other_ || report_.kept->layers.empty() || sinks_.is_interrupted() || options_.search.check) return;
  if (is_option_) return;  // that is another of the ways
  const KeptSetReport repaired = *report_.kept;
  const bool repaired_meets = met(report_);
  const Verification verified = verification();
  try {
    change_network();
    search(".unrepaired");
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted) throw;
  }
  if (!sinks_.is_interrupted() && met(report_) && (!repaired_meets || report_.kept->cost < repaired.cost)) {
    forget_repairs(repaired);
    return;
  }
  const std::size_t without = report_.kept->layers.size();
  const bool meets = met(report_);
  change_network();
  report_.kept = repaired;
  mark_kept();
  write_typed();
  take(verified);  // it is the same file again
  if (sinks_.is_interrupted()) {
    note({{"without-repairs-unknown", {}}});
  } else if (meets) {
    note({{"without-repairs-kept", {{"layers", without}}}});
  } else {
    note({{"without-repairs-missed", {}}});
  }
}

void Diagnosis::forget_repairs(const KeptSetReport& repaired) {
  note({{"repairs-taken-back", {{"with", repaired.layers.size()}, {"without", report_.kept->layers.size()}}}});
  take_back(report_.explanation->repairs, "undone: without the repairs fewer layers are kept");
  report_.repaired.reset();
  std::erase_if(report_.notes,
                [&](const Note& note) { return std::ranges::find(repair_notes_, note) != repair_notes_.end(); });
  if (typed_source_.raised) {
    writing([&] { typed_->write_float(experiment_->mutable_plan(), report_.files); });
  } else if (const auto file = report_.files.find("float"); file != report_.files.end()) {
    std::filesystem::remove(file->second);
    report_.files.erase(file);
  }
}

void Diagnosis::search(const std::string& journal_suffix) {
  steps_.begin("search");
  watch_.phase("search");
  SearchOptions limits = options_.search;
  if (!limits.journal.empty()) limits.journal += journal_suffix;
  const std::optional<LayerTimes> times = times_of_layers();
  const auto start = std::chrono::steady_clock::now();
  report_.kept = search_once(limits, times ? &*times : nullptr);
  if (no_cheaper_) return;
  if (const TrialsOn there = where_trials_tell_more(*report_.kept); there != trials_on_) {
    const KeptSetReport simulated = *report_.kept;
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
    const bool by_runtime = there == TrialsOn::Runtime;
    if (take_off(simulated.evaluations, spent.count(), limits)) {
      if (ranks_layers() && evidence_.alone.empty()) {
        step("sensitivity", [&] { sensitivities(); });
        rank();
        watch_.phase("search");
      }
      const Verification verified = verification();
      const std::pair tests(file_test_, engine_test_);
      const bool was_met = met(report_);
      trials_on_ = there;
      if (!limits.journal.empty()) limits.journal += by_runtime ? ".onnxruntime" : ".engine";
      report_.kept = search_once(limits, times ? &*times : nullptr);
      if (was_met && report_.kept->end == SearchEnd::Stopped && report_.kept->cost >= simulated.cost) {
        report_.kept = simulated;
        write_typed();
        take(verified);  // it is the same file again
        std::tie(file_test_, engine_test_) = tests;
      } else {
        report_.kept->sample_inferences += simulated.sample_inferences;
      }
      if (by_runtime) {
        note_once({"searched-by-runtime", {{"engine", "ONNX Runtime " + subject().runtime->version()}}});
      } else {
        report_.kept->notes.insert(report_.kept->notes.begin(), Note{"engine-in-trials", {}});
      }
    } else {
      report_.kept->notes.push_back(Note{"no-trials-left", {{"evaluations", simulated.evaluations}}});
    }
  }
  report_.kept->file_test = file_test_;
  report_.kept->engine_test = engine_test_;
  // The reference run and all-low, own errors (about one more), sensitivities of single layers by their share,
  // trials.
  const std::size_t whole = (ranks_layers() ? 3 : 2) * subject().samples->size();
  report_.kept->sample_inferences += whole + static_cast<std::size_t>(std::ceil(sensitivities_->sample_inferences()));
  say_seconds();
  mark_kept();
}

KeptSetReport Diagnosis::search_once(const SearchOptions& limits, const LayerTimes* times) {
  SearchRequest request;
  request.options = limits;
  request.objective = objective_.get();
  request.times = times;
  for (const Format format : limits.ladder) request.rungs.push_back(under_target(format, precision_.target));
  if (!request.rungs.empty()) request.cost_of_lowest = cost_of_lowest(*experiment_, limits.cost);
  request.decides = deciding(options_, objective_.get(), trials_on_ == TrialsOn::Engine);
  request.measure_more = [&] {
    const bool more = sensitivities_->measure_more();
    note_left_out();
    return more;
  };
  request.rank = [&] {
    say_seconds();
    step("sensitivity", [&] { sensitivities(); });
    watch_.phase("minimal search");
  };
  // Simulated trials under a smaller limit lead nowhere where a kernel does something else: trials there do.
  const bool can_move = trials_on_ == TrialsOn::Simulation && !limits.check && request.rungs.empty();
  request.confirm = [&](const KeptSetReport& found) {
    // Of a minimal set: less allowance keeps no less.
    no_cheaper_ = cost_to_beat_ && found.end == SearchEnd::Certified && found.cost > *cost_to_beat_;
    if (no_cheaper_) return std::numeric_limits<double>::quiet_NaN();
    const Confirmed confirmed = confirm(found);
    const bool far = can_move && runtime_misses() && confirmed.damage > kMostRoom * confirmed.simulated;
    return far ? std::numeric_limits<double>::quiet_NaN() : confirmed.damage;
  };
  // A single element or class may flip where other sums move it across the edge of a code.
  const bool hangs_on_one = requirement() == nullptr || (requirement()->metric == Metric::MaxAbsError ||
                                                         requirement()->metric == Metric::MinTop1Agreement);
  const bool sure = requirement() != nullptr && requirement()->confidence > 0.5;
  const bool engine_decides = options_.confirm_on || precision_.target == Target::OnnxRuntime;
  if (engine_decides || hangs_on_one) request.most_room = kMostRoom;
  if (halves_ || sure) request.most_room = kMostRoomForOthers;
  std::optional<EngineTrials> trials;
  if (trials_on_ != TrialsOn::Simulation) {
    trials.emplace(options_.confirm_on.value_or(MeasureOn::OnnxRuntime), options_, loaded_, *typed_, objective_.get(),
                   sinks_);
    request.engine = trials->engine();
    if (trials_on_ == TrialsOn::Runtime) request.decides.key += ", on " + request.engine;
    request.external = [&](const std::vector<std::string>& kept) { return trials->judge(kept); };
  }
  std::optional<OutsideCheck> check;
  if (limits.check) {
    if (job_ranks().first()) check.emplace(options_, report_, request.decides.key, *typed_, sinks_);
    request.external = [&](const std::vector<std::string>& kept) { return check->judge(kept); };
  }
  const bool ranked = !evidence_.alone.empty();
  KeptSetReport kept = find_kept_set(*experiment_, evidence_, request, sinks_);
  if (!ranked && !evidence_.alone.empty()) rank();  // the search needed sensitivities after all
  return kept;
}

Diagnosis::Confirmed Diagnosis::confirm(const KeptSetReport& found) {
  say_seconds();
  report_.kept = found;
  write_and_verify();
  Confirmed confirmed;
  if (objective_ != nullptr && !sinks_.is_interrupted()) {
    if (!file_test_) {
      std::optional<Note> doubt;
      doubts_.clear();
      file_test_ = typed_->judged_by(*objective_, found.layers, doubt);
      if (doubt) doubts_.push_back(*doubt);
    }
    if (halves_) judge_unseen(*file_test_, found);
    file_test_->layers = found.layers;
    confirmed = {file_test_->damage, file_test_->damage};
    if (engine_test_ && !(engine_test_->damage <= confirmed.damage)) confirmed.damage = engine_test_->damage;
  } else if (report_.final_figures && report_.final_figures->damage) {
    confirmed = {*report_.final_figures->damage, *report_.final_figures->damage};
    const bool on_engine_alone = trials_on_ == TrialsOn::Engine && report_.engine;
    if (on_engine_alone || (report_.engine && !(*report_.engine->figures.damage <= confirmed.damage))) {
      confirmed.damage = *report_.engine->figures.damage;
    }
  }
  if (!(confirmed.damage <= 1)) watch_.phase("search");
  return confirmed;
}

/// Asked for by name, so that an answer in another unit would be another answer: it ends the job, before the search.
std::optional<LayerTimes> Diagnosis::times_of_layers() {
  if (options_.search.cost != CostUnit::Time) return std::nullopt;
  const TypedModel low = typed_->lowered(all_low_plan());
  return times_of_first(job_ranks(), [&] {
    if (times_on_engine(options_)) {
      std::string engine;
      LayerTimes there = times_on_engine(options_, loaded_, low.model, sinks_, engine);
      report_.notes.push_back({"times-of-engine", {{"engine", engine}}});
      return there;
    }
    return measure_layer_times(subject().runtime, *loaded_.original, low.model, subject().samples->at(0));
  });
}

/// A file for ONNX Runtime, or to be confirmed there, that meets what decides in simulation, but not there.
bool Diagnosis::runtime_misses() const {
  const bool there =
      options_.confirm_on ? *options_.confirm_on == MeasureOn::OnnxRuntime : precision_.target == Target::OnnxRuntime;
  if (!there || options_.search.check) return false;
  if (engine_test_) return engine_test_->verdict != Verdict::Good && file_test_ && file_test_->verdict == Verdict::Good;
  return report_.engine && report_.engine->figures.passed == false && report_.final_figures &&
         report_.final_figures->passed == true;
}

Diagnosis::TrialsOn Diagnosis::where_trials_tell_more(const KeptSetReport& kept) const {
  constexpr double kFarFromSimulation = 10;
  const SearchOptions& asked = options_.search;
  const bool simulated = trials_on_ == TrialsOn::Simulation && !asked.check && asked.ladder.empty();
  if (!simulated || sinks_.is_interrupted()) return trials_on_;
  if (runtime_misses()) return TrialsOn::Runtime;
  const bool missed = report_.engine && report_.engine->figures.damage && *report_.engine->figures.damage > 1;
  const bool differs = options_.confirm_on && (missed || kept.room > kFarFromSimulation);
  return differs && asked.mode == SearchMode::Minimal ? TrialsOn::Engine : trials_on_;
}

Verification Diagnosis::verification() const {
  return {report_.final_figures,
          report_.in_sample,
          report_.other_sums,
          report_.saturated_pairs,
          report_.not_simulated,
          report_.engine,
          doubts_};
}

void Diagnosis::take(const Verification& verified) {
  report_.final_figures = verified.figures;
  report_.in_sample = verified.in_sample;
  report_.other_sums = verified.other_sums;
  report_.saturated_pairs = verified.saturated_pairs;
  report_.not_simulated = verified.not_simulated;
  report_.engine = verified.engine;
  doubts_ = verified.doubts;
}

void Diagnosis::write_typed() {
  experiment_->forget_switched();  // sessions of the file come in its place
  step("output model", [&] { writing([&] { report_.typed = typed_->write(final_plan(), report_.files); }); });
}

void Diagnosis::write_and_verify() {
  take({});
  file_test_.reset();
  engine_test_.reset();
  // No choice of layers helps: a file with everything in the high format would pass for an answer.
  if (report_.kept && report_.kept->end == SearchEnd::Impossible) return;
  write_typed();
  if (options_.output.empty() && !report_.kept) return;  // nothing to claim: all low was measured already
  if (sinks_.is_interrupted()) return;
  step("verify", [&] {
    const VerifyReport verified = typed_->verify(*measured_);
    take({verified.figures,
          {},
          verified.other_sums,
          verified.saturated_pairs,
          verified.not_simulated,
          verified.engine,
          verified.warnings});
    if (halves_) claim_unseen();
    file_test_ = verified.test;
    engine_test_ = verified.engine_test;
    if (trials_on_ == TrialsOn::Engine && engine_test_) file_test_ = engine_test_;  // as in every trial
  });
}

bool Diagnosis::sums_may_differ() const {
  return all_low_plan().target == Target::TensorRt &&
         std::ranges::any_of(all_low_plan().layers, [](const PlannedLayer& layer) {
           return layer.format == Format::Float16 || layer.format == Format::BFloat16;
         });
}

void Diagnosis::saturation() {
  RunFigures exact;
  if (report_.final_figures) {
    exact = report_.in_sample ? *report_.in_sample : *report_.final_figures;  // what saturates was measured there
  } else {
    VerifyReport measured = typed_->measured(all_low_plan());
    report_.saturated_pairs = std::move(measured.saturated_pairs);
    report_.not_simulated = std::move(measured.not_simulated);
    if (report_.not_simulated) warn(computes_otherwise_note(*report_.not_simulated));
    exact = std::move(measured.figures);
  }
  if (!report_.saturated_pairs) return;
  report_.saturated_pairs->reduced = typed_->with_reduced_range(report_.final_figures ? final_plan() : all_low_plan());
  warn(saturation_note(*report_.saturated_pairs, exact, report_.requirement, report_.in_sample.has_value()));
}

OtherSums Diagnosis::all_low_with_other_sums() {
  Plan plan = all_low_plan();
  plan.arithmetic = other_arithmetic(plan.arithmetic);
  const TrialResult run = run_trial(subject(), plan, experiment_->judged_against(), experiment_->weights, requirement(),
                                    all_samples(subject()), /*early_stop=*/false);
  return {plan.arithmetic.accumulate, figures_of(subject(), run.outputs, requirement())};
}

}  // namespace vernier
