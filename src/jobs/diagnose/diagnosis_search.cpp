#include "jobs/diagnose/diagnosis_search.h"

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
#include "jobs/search/kept_set_report.h"
#include "jobs/search/trials_ahead.h"
#include "plan/plan.h"
#include "plan/target.h"
#include "report/text/figures.h"
#include "vernier/engine.h"
#include "vernier/error.h"
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

/// A single element or class may flip where other sums move it across the edge of a code: 10 dB.
constexpr double kMostApart = 10;
constexpr double kAnything = std::numeric_limits<double>::infinity();

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

/// A script has a verdict, and no damage.
Trial worse_of(const Trial& first, const Trial& other) {
  if (other.verdict == Verdict::Good && !(other.damage > first.damage)) return first;
  Trial worse = other;
  worse.samples = first.samples;
  worse.verdict = other.verdict == Verdict::Good ? Verdict::Good : Verdict::Bad;
  return worse;
}

class NetworkSearch {
 public:
  NetworkSearch(DiagnosisRun& run, MeasuredNetwork& network)
      : run_(run), network_(network), objective_(network.model().objective.get()) {}

  Searched search(const SearchOptions& limits) {
    const std::optional<LayerTimes> times = times_of_layers(run_, network_);
    std::optional<KeptSetReport>& kept = run_.report.kept;
    kept = kept_set(limits, times ? &*times : nullptr);
    if (found_.no_cheaper) return found_;
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
  KeptSetReport kept_set(const SearchOptions& limits, const LayerTimes* times) {
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
    request.decides = deciding(options, objective_, options.trials_on_engine);
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
    request.confirm = [&](const KeptSetReport& found) {
      // Of a minimal set: one that the file must pass too keeps no less.
      const std::optional<double> to_beat = run_.option ? run_.option->cost_to_beat : std::nullopt;
      found_.no_cheaper = to_beat && found.end == SearchEnd::Certified && found.cost > *to_beat;
      return found_.no_cheaper ? Trial() : confirm(found);
    };
    const bool hangs_on_one = requirement == nullptr || (requirement->metric == Metric::MaxAbsError ||
                                                         requirement->metric == Metric::MinTop1Agreement);
    const bool sure = requirement != nullptr && requirement->confidence > 0.5;
    const bool engine_decides = options.confirm_on || target == Target::OnnxRuntime;
    if (hangs_on_one) request.most_apart = kMostApart;
    // An engine computes otherwise, and few samples that did not teach say little of those that did.
    if (engine_decides || network_.halves || sure) request.most_apart = kAnything;
    std::optional<EngineTrials> trials;
    if (options.trials_on_engine) {
      trials.emplace(options.confirm_on.value_or(MeasureOn::OnnxRuntime), options, network_.loaded(), network_.typed,
                     objective_, run_.sinks);
      request.engine = trials->engine();
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

  /// What was found once it is a written file. Invalid: there is nothing to confirm.
  Trial confirm(const KeptSetReport& found) {
    const DiagnoseReport& report = run_.report;
    run_.say_seconds();
    run_.report.kept = found;
    Verification& verified = found_.verified;
    verified = write_and_verify(run_, network_);
    Trial simulated, confirmed;
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
      simulated = trial_of(*test);
      confirmed = verified.engine_test ? worse_of(simulated, trial_of(*verified.engine_test)) : simulated;
    } else if (report.final_figures && report.final_figures->damage) {
      simulated = trial_of_figures(*report.final_figures);
      const bool on_engine_alone = run_.options.trials_on_engine && report.engine;
      confirmed = on_engine_alone ? trial_of_figures(report.engine->figures)
                  : report.engine ? worse_of(simulated, trial_of_figures(report.engine->figures))
                                  : simulated;
    }
    if (confirmed.verdict == Verdict::Bad) {
      run_.watch.phase("search");
      if (simulated.verdict == Verdict::Good && report.engine) {
        say_missed_there(network_.plan_of(report.kept), *report.final_figures, *report.engine, found.layers.size());
      }
    }
    return confirmed;
  }

  /// The answer passes there, so that its own figures do not tell why layers are kept.
  void say_missed_there(const Plan& plan, const RunFigures& simulated, const EngineFigures& engine, std::size_t kept) {
    if (found_.refused) return;
    found_.refused = RefusedFile{plan, simulated, engine};
    const std::optional<Requirement>& limit = run_.report.requirement;
    run_.note_once({"missed-there",
                    {{"engine", engine.engine},
                     {"there", figure_text(engine.figures, limit)},
                     {"simulated", figure_text(simulated, limit)},
                     {"kept", kept}}});
  }

  /// SearchRequest::as_file.
  Trial as_file(const Plan& plan, const std::vector<std::string>& layers, Trial trial) {
    if (run_.options.trials_on_engine) return trial;  // the engine alone decides, and ran it
    if (!sessions_are_small(network_.subject())) network_.experiment.forget_switched();
    Verification file;
    try {
      file = network_.typed.verify(plan, layers, objective_, network_.measured);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Backend) throw;  // it ran the file that was confirmed, and not this one
      trial.verdict = Verdict::Invalid;
      trial.damage = trial.metric = std::numeric_limits<double>::quiet_NaN();
      trial.why = std::string("did not run: ") + error.what();
      return trial;
    }
    const bool new_samples_decided = objective_ != nullptr && network_.halves;
    if (!new_samples_decided)
      trial = worse_of(trial, objective_ ? trial_of(*file.file_test) : trial_of_figures(*file.figures));
    const bool passed = trial.verdict == Verdict::Good;
    if (objective_ != nullptr && file.engine_test) trial = worse_of(trial, trial_of(*file.engine_test));
    if (objective_ == nullptr && file.engine) trial = worse_of(trial, trial_of_figures(file.engine->figures));
    if (passed && trial.verdict == Verdict::Bad && file.engine && file.figures) {
      say_missed_there(plan, *file.figures, *file.engine, layers.size());
    }
    return trial;
  }

  Trial trial_of_figures(const RunFigures& figures) const {
    const Requirement& requirement = *run_.requirement();
    Trial trial;
    trial.damage = figures.damage.value_or(std::numeric_limits<double>::quiet_NaN());
    trial.verdict = trial.damage <= 1 ? Verdict::Good : Verdict::Bad;
    const OutputFigure* const output = deciding_output(figures, requirement);
    if (output == nullptr) return trial;
    const std::optional<double> value = metric_value(requirement.metric, *output);
    const std::optional<double> bound = bound_on_new_samples(*output, requirement);
    trial.metric = bound.value_or(value.value_or(trial.metric));
    if (bound && bound != value) trial.on_samples = value;
    if (network_.subject().judged.size() > 1) trial.output = output->name;
    trial.why = needs_text(requirement, output->name, trial.metric, /*bound=*/false);
    return trial;
  }

  DiagnosisRun& run_;
  MeasuredNetwork& network_;
  const Objective* const objective_;  // null: the requirement decides
  Searched found_;
};

}  // namespace

Searched search(DiagnosisRun& run, MeasuredNetwork& network, const std::string& journal_suffix) {
  run.steps.begin("search");
  run.watch.phase("search");
  SearchOptions limits = run.options.search;
  if (!limits.journal.empty()) limits.journal += journal_suffix;
  return NetworkSearch(run, network).search(limits);
}

}  // namespace vernier
