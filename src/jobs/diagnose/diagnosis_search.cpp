#include "jobs/diagnose/diagnosis_search.h"

#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "distributed/ranks.h"
#include "engines/onnxruntime/runtime.h"
#include "jobs/common/typed_file.h"
#include "jobs/diagnose/layer_times.h"
#include "jobs/diagnose/outside_trials.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/search/chosen_objective.h"
#include "jobs/search/costs.h"
#include "jobs/search/judge.h"
#include "jobs/search/kept_set.h"
#include "jobs/search/trials_ahead.h"
#include "plan/plan.h"
#include "plan/target.h"
#include "report/text/figures.h"
#include "vernier/engine.h"
#include "vernier/format.h"
#include "vernier/report/engine.h"
#include "vernier/report/figures.h"
#include "vernier/report/kept_set.h"
#include "vernier/report/outcome.h"
#include "vernier/requirement.h"
#include "vernier/run.h"
#include "vernier/search_options.h"

namespace vernier {
namespace {

/// An engine computes otherwise, float16 sums for example: 10 dB.
constexpr double kMostApart = 10;
/// What a search finds on samples that did not teach, and what the written file is on those that did, may differ as far
/// as few samples can: 40 dB.
constexpr double kMostApartOnOthers = 1e4;

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

/// Asked for by name, so that an answer in another unit would be another answer: it ends the job, before the search.
std::optional<LayerTimes> times_of_layers(DiagnosisRun& run, MeasuredNetwork& network) {
  const DiagnoseOptions& options = run.options;
  if (options.search.cost != CostUnit::Time) return std::nullopt;
  const bool on_engine = run.confirms_on_engine();
  std::string name_of_engine;
  const LayerTimes times = times_of_first(job_ranks(), [&] {
    const Subject& subject = network.subject();
    const Model& high = *network.loaded().original;
    const auto engine =
        on_engine ? EngineRunner::require(options_for(*options.confirm_on, options.engine), run.sinks) : nullptr;
    if (engine) name_of_engine = engine->text();
    const auto measure = [&](const Plan& plan) {
      const Model low = network.typed.fed_with_floats(network.typed.lowered(plan).model);
      return engine ? measure_layer_times(*engine, as_typed_file(high), as_typed_file(low), *subject.samples)
                    : measure_layer_times(subject.runtime, high, low, subject.samples->at(0));
    };
    LayerTimes there = measure(network.all_low_plan());
    if (network.experiment.has_ladder()) {
      const auto runs = [&](Format format) { return on_engine || has_kernels_on_cpu(format); };
      add_rungs(there, network.experiment, runs, [&](const Plan& plan) { return measure(plan).low; });
    }
    return there;
  });
  if (on_engine) run.report.notes.push_back({"times-of-engine", {{"engine", name_of_engine}}});
  std::vector<std::string> without;
  for (const Format rung : options.search.ladder) {
    const Format format = under_target(rung, network.model().precision.target);
    if (!on_engine && format != Format::Float32 && !has_kernels_on_cpu(format))
      without.emplace_back(format_title(format));
  }
  if (!without.empty()) run.report.notes.push_back({"rungs-without-kernels", {{"formats", without}}});
  return times;
}

Trial worse_of(const Trial& first, const TestRow& row) {
  Trial trial = first;
  if (row.damage <= trial.damage || std::isnan(row.damage)) return trial;
  trial.damage = row.damage;
  trial.metric = row.metric;
  trial.on_samples = row.metric == row.on_samples ? std::nullopt : row.on_samples;
  trial.why = row.needs;
  trial.verdict = row.damage <= 1 ? Verdict::Good : Verdict::Bad;
  return trial;
}

class NetworkSearch {
 public:
  NetworkSearch(DiagnosisRun& run, MeasuredNetwork& network, TrialsOn trials)
      : run_(run), network_(network), objective_(network.model().objective.get()), found_{{}, trials} {}

  Searched search(SearchOptions limits) {
    const std::optional<LayerTimes> times = times_of_layers(run_, network_);
    const auto start = std::chrono::steady_clock::now();
    std::optional<KeptSetReport>& kept = run_.report.kept;
    kept = search_once(limits, times ? &*times : nullptr);
    if (found_.no_cheaper) return found_;
    if (const TrialsOn there = where_trials_tell_more(); there != found_.trials) {
      const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (take_off(kept->evaluations, spent.count(), limits)) {
        search_again(there, limits, times ? &*times : nullptr);
      } else {
        kept->notes.push_back(Note{"no-trials-left", {{"evaluations", kept->evaluations}}});
      }
    }
    kept->file_test = found_.verified.file_test;
    kept->engine_test = found_.verified.engine_test;
    // The reference run and all-low, own errors (about one more), sensitivities of single layers by their share,
    // trials.
    const std::size_t whole = (run_.ranks_layers() ? 3 : 2) * network_.subject().samples->size();
    kept->sample_inferences += whole + static_cast<std::size_t>(std::ceil(run_.sensitivity_inferences));
    run_.say_seconds();
    mark_kept(run_.report);
    return found_;
  }

 private:
  /// With trials that run there.
  void search_again(TrialsOn there, SearchOptions limits, const LayerTimes* times) {
    std::optional<KeptSetReport>& kept = run_.report.kept;
    const KeptSetReport simulated = *kept;
    const Verification verified = found_.verified;
    const bool was_met = met(run_.report);
    if (run_.ranks_layers() && network_.evidence.alone.empty()) {
      run_.step("sensitivity", [&] { measure_sensitivities(run_, network_); });
      rank(run_, network_);
      run_.watch.phase("search");
    }
    const bool by_runtime = there == TrialsOn::Runtime;
    found_.trials = there;
    if (!limits.journal.empty()) limits.journal += by_runtime ? ".onnxruntime" : ".engine";
    kept = search_once(limits, times);
    if (was_met && kept->end == SearchEnd::Stopped && kept->cost >= simulated.cost) {
      kept = simulated;
      write_typed(run_, network_);
      found_.verified = verified;  // it is the same file again
      show(verified, run_.report);
    } else {
      kept->sample_inferences += simulated.sample_inferences;
    }
    if (by_runtime) {
      run_.note_once({"searched-by-runtime", {{"engine", "ONNX Runtime " + network_.subject().runtime->version()}}});
    } else {
      kept->notes.insert(kept->notes.begin(), Note{"engine-in-trials", {}});
    }
  }

  KeptSetReport search_once(const SearchOptions& limits, const LayerTimes* times) {
    const DiagnoseOptions& options = run_.options;
    const Target target = network_.model().precision.target;
    const Requirement* const requirement = run_.requirement();
    const Evidence& evidence = network_.evidence;
    SearchRequest request;
    request.options = limits;
    request.objective = objective_;
    request.times = times;
    for (const Format format : limits.ladder) request.rungs.push_back(under_target(format, target));
    if (!request.rungs.empty()) request.cost_of_lowest = cost_of_lowest(network_.experiment, limits.cost, times);
    request.decides = deciding(options, objective_, found_.trials == TrialsOn::Engine);
    request.measure_more = [&] {
      const bool more = network_.sensitivities.measure_more();
      note_left_out(run_, network_);
      return more ? std::optional(evidence) : std::nullopt;
    };
    request.rank = [&] {
      run_.say_seconds();
      run_.step("sensitivity", [&] { measure_sensitivities(run_, network_); });
      run_.watch.phase("minimal search");
      return evidence;
    };
    request.as_file = [&](const Plan& plan, const std::vector<std::string>& kept, const Trial& passed) {
      return as_file(plan, kept, passed);
    };
    // Simulated trials lead nowhere where a kernel does something else: trials there do.
    const bool can_move = found_.trials == TrialsOn::Simulation && !limits.check && request.rungs.empty();
    request.confirm = [&](const KeptSetReport& found) {
      // Of a minimal set: less allowance keeps no less.
      const std::optional<double> to_beat = run_.option ? run_.option->cost_to_beat : std::nullopt;
      found_.no_cheaper = to_beat && found.end == SearchEnd::Certified && found.cost > *to_beat;
      if (found_.no_cheaper) return std::numeric_limits<double>::quiet_NaN();
      const Confirmed confirmed = confirm(found);
      const bool far = can_move && runtime_misses() && confirmed.damage > kMostApart * confirmed.simulated;
      return far ? std::numeric_limits<double>::quiet_NaN() : confirmed.damage;
    };
    // A single element or class may flip where other sums move it across the edge of a code.
    const bool hangs_on_one = requirement == nullptr || (requirement->metric == Metric::MaxAbsError ||
                                                         requirement->metric == Metric::MinTop1Agreement);
    const bool sure = requirement != nullptr && requirement->confidence > 0.5;
    const bool engine_decides = options.confirm_on || target == Target::OnnxRuntime;
    if (engine_decides || hangs_on_one) request.most_apart = kMostApart;
    if (network_.halves || sure) request.most_apart = kMostApartOnOthers;
    std::optional<EngineTrials> trials;
    if (found_.trials != TrialsOn::Simulation) {
      trials.emplace(options.confirm_on.value_or(MeasureOn::OnnxRuntime), options, network_.loaded(), network_.typed,
                     objective_, run_.sinks);
      request.engine = trials->engine();
      if (found_.trials == TrialsOn::Runtime) request.decides.key += ", on " + request.engine;
      request.external = [&](const std::vector<std::string>& kept) { return trials->judge(kept); };
    }
    std::optional<OutsideCheck> check;
    if (limits.check) {
      if (job_ranks().first()) check.emplace(options, run_.report, request.decides.key, network_.typed, run_.sinks);
      request.external = [&](const std::vector<std::string>& kept) { return check->judge(kept); };
    }
    const bool ranked = !evidence.alone.empty();
    KeptSetReport kept = find_kept_set(network_.experiment, evidence, request, run_.sinks);
    if (!ranked && !evidence.alone.empty()) rank(run_, network_);  // the search needed sensitivities after all
    return kept;
  }

  struct Confirmed {
    double damage = std::numeric_limits<double>::quiet_NaN();  // by what decides
    double simulated = damage;
  };
  /// Of what was found, once it is a written file. NaN: there is nothing to confirm.
  Confirmed confirm(const KeptSetReport& found) {
    const DiagnoseReport& report = run_.report;
    run_.say_seconds();
    run_.report.kept = found;
    Verification& verified = found_.verified;
    verified = write_and_verify(run_, network_, found_.trials);
    Confirmed confirmed;
    if (objective_ != nullptr && !run_.interrupted()) {
      std::optional<TestRow>& test = verified.file_test;
      if (!test) {
        std::optional<Note> doubt;
        test = network_.typed.judged_by(*objective_, found.layers, doubt);
        verified.doubts.clear();
        if (doubt) verified.doubts.push_back(*doubt);
      }
      if (network_.halves) judge_unseen(network_, *test, found);
      test->layers = found.layers;
      confirmed = {test->damage, test->damage};
      const std::optional<TestRow>& on_engine = verified.engine_test;
      if (on_engine && !(on_engine->damage <= confirmed.damage)) confirmed.damage = on_engine->damage;
    } else if (report.final_figures && report.final_figures->damage) {
      confirmed = {*report.final_figures->damage, *report.final_figures->damage};
      const bool on_engine_alone = found_.trials == TrialsOn::Engine && report.engine;
      if (on_engine_alone || (report.engine && !(*report.engine->figures.damage <= confirmed.damage))) {
        confirmed.damage = *report.engine->figures.damage;
      }
    }
    if (!(confirmed.damage <= 1)) run_.watch.phase("search");
    return confirmed;
  }

  /// SearchRequest::as_file.
  Trial as_file(const Plan& plan, const std::vector<std::string>& layers, Trial trial) {
    if (!sessions_are_small(network_.subject())) network_.experiment.forget_switched();
    const Verification file = network_.typed.verify(plan, network_.measured);
    if (objective_ != nullptr) {
      std::optional<Note> unsaid;
      const TestRow test = file.file_test ? *file.file_test : network_.typed.judged_by(*objective_, layers, unsaid);
      trial = worse_of(trial, test);
      return file.engine_test ? worse_of(trial, *file.engine_test) : trial;
    }
    trial = worse_of(trial, row_of_figures(*file.figures));
    return file.engine ? worse_of(trial, row_of_figures(file.engine->figures)) : trial;
  }

  TestRow row_of_figures(const RunFigures& figures) const {
    const Requirement& requirement = *run_.requirement();
    TestRow row;
    row.damage = figures.damage.value_or(std::numeric_limits<double>::quiet_NaN());
    const OutputFigure* const output = deciding_output(figures, requirement);
    if (output == nullptr) return row;
    row.on_samples = metric_value(requirement.metric, *output);
    row.metric = bound_on_new_samples(*output, requirement).value_or(row.on_samples.value_or(row.metric));
    row.needs = needs_text(requirement, output->name, row.metric, /*bound=*/false);
    return row;
  }

  /// A file for ONNX Runtime, or to be confirmed there, that meets what decides in simulation, but not there.
  bool runtime_misses() const {
    const DiagnoseOptions& options = run_.options;
    const Verification& file = found_.verified;
    const bool there = options.confirm_on ? *options.confirm_on == MeasureOn::OnnxRuntime
                                          : network_.model().precision.target == Target::OnnxRuntime;
    if (!there || options.search.check) return false;
    if (file.engine_test) {
      return file.engine_test->verdict != Verdict::Good && file.file_test && file.file_test->verdict == Verdict::Good;
    }
    return file.engine && file.engine->figures.passed == false && file.figures && file.figures->passed == true;
  }

  /// The engine's errors may depend on which layers are low, not on how far: then a search that the simulation leads
  /// keeps all of them. With trials on the engine, it does not. Where trials run now: they run where they should.
  TrialsOn where_trials_tell_more() const {
    const SearchOptions& asked = run_.options.search;
    const bool simulated = found_.trials == TrialsOn::Simulation && !asked.check && asked.ladder.empty();
    if (!simulated || run_.interrupted()) return found_.trials;
    if (runtime_misses()) return TrialsOn::Runtime;
    const std::optional<EngineFigures>& engine = found_.verified.engine;
    const bool missed = engine && engine->figures.damage && *engine->figures.damage > 1;
    return run_.options.confirm_on && missed && asked.mode == SearchMode::Minimal ? TrialsOn::Engine : found_.trials;
  }

  DiagnosisRun& run_;
  MeasuredNetwork& network_;
  const Objective* const objective_;  // null: the requirement decides
  Searched found_;
};

}  // namespace

Searched search(DiagnosisRun& run, MeasuredNetwork& network, TrialsOn trials, const std::string& journal_suffix) {
  run.steps.begin("search");
  run.watch.phase("search");
  SearchOptions limits = run.options.search;
  if (!limits.journal.empty()) limits.journal += journal_suffix;
  return NetworkSearch(run, network, trials).search(limits);
}

}  // namespace vernier
