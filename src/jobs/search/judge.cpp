#include "jobs/search/judge.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "analysis/figures.h"
#include "analysis/known_trials.h"
#include "base/text.h"
#include "vernier/error.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// `result` as it is, where it ended early a bound.
Trial trial_of(const Subject& subject, const TrialResult& result, const Requirement& requirement, const LowStats* low) {
  Trial trial;
  if (!result.stopped_early) {
    trial = trial_of(subject, result.outputs, requirement, low);
  } else {
    trial.verdict = Verdict::Bad;
    trial.damage = result.damage;
    trial.metric = result.metric;
    trial.stopped_early = true;
    trial.confidence = result.confidence;
    if (subject.judged.size() > 1) trial.output = result.output;
    trial.why = needs_text(requirement, result.output, result.metric, /*bound=*/true);
  }
  trial.samples = result.samples_run;
  return trial;
}

/// What is known of a plan: of each network that may judge it.
std::vector<KnownPlan> known_of_all(Experiment& experiment, const Plan& plan) {
  std::vector<KnownPlan> all;
  if (const auto known = experiment.known(plan)) all.push_back(*known);
  if (experiment.unseen() == nullptr) return all;
  if (const auto own = experiment.known_own(plan)) all.push_back(*own);
  return all;
}

/// `trial` as it is, or that of the network that all samples taught: the written file is that one, and the worse of
/// both decides. `subject`: the experiment's, with the threads of a job.
Trial worse_with_own_samples(Experiment& experiment, const Subject& subject, const KeptSet& set, Trial trial,
                             bool early_stop) {
  const Requirement& requirement = *experiment.requirement();
  Trial own;
  if (set.empty()) {
    own = trial_of(experiment.subject(), experiment.all_low().outputs, requirement);
  } else {
    const Plan plan = experiment.plan_of(set);
    const std::optional<KnownPlan> before = experiment.known_own(plan);
    const TrialResult result = run_trial(
        subject, plan, experiment.judged_against(), experiment.weights, &requirement, experiment.hardest_first(),
        early_stop, nullptr, [&] { return experiment.switched(); }, before ? &*before : nullptr);
    own = trial_of(experiment.subject(), result, requirement, nullptr);
    trial.also_run = own.samples;
  }
  own.samples = trial.samples;
  own.also_run = trial.also_run;
  return own.damage > trial.damage ? own : trial;
}

bool higher_is_better(Metric metric) { return metric != Metric::MaxAbsError && metric != Metric::MaxMse; }

}  // namespace

Trial trial_of(const Subject& subject, const std::map<std::string, OutputStats>& outputs,
               const Requirement& requirement, const LowStats* low) {
  const DecidingFigure decides = deciding_figure(subject, outputs, requirement, low);
  Trial trial;
  trial.damage = decides.damage;
  trial.metric = decides.value;
  trial.on_samples = decides.on_samples;
  if (subject.judged.size() > 1) trial.output = decides.output;
  trial.why = needs_text(requirement, decides.output, decides.value, /*bound=*/false);
  trial.verdict = trial.damage <= 1 ? Verdict::Good : Verdict::Bad;
  return trial;
}

std::string needs_text(const Requirement& requirement, const std::string& output, double metric, bool bound) {
  if (!std::isfinite(metric)) return {};
  const bool higher = higher_is_better(requirement.metric);
  const double size = std::max(std::abs(metric), 1e-12);
  // Four digits, and two behind the point of decibels.
  const double unit = requirement.metric == Metric::MinSqnrDb ? 0.01 : std::pow(10.0, std::floor(std::log10(size)) - 3);
  const double limit = higher ? std::floor(metric / unit) * unit : std::ceil(metric / unit) * unit;
  bool one_of_many = false;
  for (const Limit& known : requirement.limits) one_of_many = one_of_many || known.output == output;
  return fmt::format("{}‹{}› {}{:.4g}", bound ? (higher ? "less than " : "more than ") : "",
                     word_of(requirement.metric), one_of_many ? printable(output) + ":" : "", limit);
}

Trial Judge::operator()(const KeptSet& set) {
  if (objective_ == nullptr) return by_requirement(set);
  const bool all = set.size() == experiment_.steps().size();
  if (all && objective_->passes_reference() && experiment_.all_high_is_reference() && !experiment_.golden()) {
    Trial trial;
    trial.verdict = Verdict::Good;
    trial.damage = trial.metric = 0;
    trial.samples = experiment_.hardest_first().size();
    return trial;
  }
  return by_objective(run_of(set), experiment_.hardest_first(), early_stop_ && !all);
}

Trial Judge::by_requirement(const KeptSet& set) {
  const Requirement& requirement = *experiment_.requirement();
  const bool all = set.size() == experiment_.steps().size();
  const auto known = [&](const std::map<std::string, OutputStats>& outputs) {
    Trial trial = trial_of(experiment_.subject(), outputs, requirement);
    trial.samples = experiment_.hardest_first().size();
    return trial;
  };
  if (set.empty() && !experiment_.golden() && experiment_.unseen() == nullptr) {  // measured already, in lock-step
    return known(experiment_.all_low().outputs);
  }
  if (all && experiment_.all_high_is_reference() && !experiment_.golden()) return known(experiment_.reference().totals);
  const bool early = early_stop_ && !set.empty() && !all;  // the ends are figures that people ask for
  const bool by_chance = early && confidence_ < 1;
  const PairedSamples paired = by_chance ? experiment_.paired_with_all_low(confidence_) : PairedSamples{};
  const TrialResult result =
      run(set, &requirement, by_chance ? experiment_.hard_then_drawn() : experiment_.hardest_first(), early,
          by_chance ? &paired : nullptr);
  const LowStats* const low = result.stopped_early ? nullptr : experiment_.low_outputs(experiment_.plan_of(set));
  Trial trial = trial_of(experiment_.subject(), result, requirement, low);
  const bool judged_apart = experiment_.unseen() != nullptr && !experiment_.golden() && !all;
  if (!judged_apart || trial.verdict != Verdict::Good) return trial;
  return worse_with_own_samples(experiment_, subject(), set, std::move(trial), early);
}

void Judge::run_with(const Subject& subject) {
  subject_ = &subject;
  if (experiment_.unseen() != nullptr)
    unseen_subjects_ = experiment_.unseen()->subjects_for(subject, experiment_.subject());
}

double Judge::estimate(const KeptSet& set) {
  try {
    if (objective_ != nullptr) {
      return by_objective(run_of(set), experiment_.few_hard_samples(), /*early_stop=*/false).damage;
    }
    const TrialResult part = run(set, nullptr, experiment_.few_hard_samples(), /*early_stop=*/false);
    return damage_of_all(part.outputs, experiment_.requirement());
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted) throw;
    return std::numeric_limits<double>::infinity();  // the search stops by itself at the next step
  }
}

void Judge::pack_known(const KeptSet& set, Packer& packer) {
  for (const KnownPlan& known : known_of_all(experiment_, experiment_.plan_of(set))) {
    const KnownTrials::BySample samples = known.trials.of(known.plan);
    packer.put(samples.size());
    for (const auto& [sample, outcomes] : samples) {
      packer.put(sample);
      packer.put(outcomes);
    }
  }
}

void Judge::unpack_known(const KeptSet& set, Unpacker& unpacker) {
  for (const KnownPlan& known : known_of_all(experiment_, experiment_.plan_of(set))) {
    const auto count = unpacker.get<std::size_t>();
    for (std::size_t i = 0; i < count; ++i) {
      const auto sample = unpacker.get<std::size_t>();
      known.trials.add(known.plan, sample, unpacker.get_vector<SampleOutcome>());
    }
  }
}

TrialResult Judge::run(const KeptSet& set, const Requirement* requirement, const std::vector<std::size_t>& order,
                       bool early_stop, const PairedSamples* paired) {
  const Plan plan = experiment_.plan_of(set);
  const std::optional<KnownPlan> before = experiment_.known(plan);
  if (UnseenTrials* unseen = experiment_.unseen()) {
    return unseen->run(unseen_subjects_, plan, experiment_.judged_against(), requirement, order, early_stop, paired,
                       before ? &*before : nullptr);
  }
  return run_trial(
      subject(), plan, experiment_.judged_against(), experiment_.weights, requirement, order, early_stop, paired,
      [this] { return experiment_.switched(); }, before ? &*before : nullptr);
}

Judge::Run Judge::run_of(const KeptSet& set) {
  return [this, plan = experiment_.plan_of(set)](const auto& order, const VisitOutputs& visit) {
    if (UnseenTrials* unseen = experiment_.unseen()) return unseen->visit(plan, order, visit);
    run_plan(
        experiment_.subject(), plan, experiment_.weights, [this] { return experiment_.switched(); }, order, visit);
  };
}

Trial Judge::of_model(Model simulated, bool early_stop) {
  const Run run = [&](const auto& order, const VisitOutputs& visit) {
    run_outputs(experiment_.subject(), std::move(simulated), order, visit);
  };
  return by_objective(run, experiment_.hardest_first(), early_stop);
}

Trial Judge::by_objective(const Run& run, const std::vector<std::size_t>& order, bool early_stop) {
  const std::unique_ptr<Tally> tally = objective_->begin(experiment_.subject().judged);
  std::size_t seen = 0;
  bool certain = false;
  run(order, [&](std::size_t sample, const std::vector<Tensor>& got) {
    ++seen;
    certain = !tally->add(sample, experiment_.judged_against().outputs.get(sample), got);
    return !(certain && early_stop);
  });
  Trial trial = tally->trial();
  trial.stopped_early = certain && seen < order.size();
  trial.samples = seen;
  return trial;
}

}  // namespace vernier
