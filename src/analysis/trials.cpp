#include "analysis/trials.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "analysis/known_trials.h"
#include "analysis/run_tensors.h"
#include "analysis/switched_runs.h"
#include "distributed/ranks.h"
#include "vernier/requirement.h"
#include "vernier/tensor.h"

namespace vernier {

double log_noise(const ErrorStats& stats) {
  constexpr double kHopeless = 1e3;
  if (!stats.finite()) return kHopeless;
  if (stats.ref_energy == 0) return stats.error_energy == 0 ? std::log(1e-15) : kHopeless;
  return std::log(stats.error_energy / stats.ref_energy + 1e-15);
}

void run_outputs(const Subject& subject, Model model, const std::vector<std::size_t>& order,
                 const VisitOutputs& visit) {
  run_tensors(subject, std::move(model), subject.judged, order, visit);
}

void run_plan(const Subject& subject, const Plan& plan, RoundedWeights& weights, const SwitchedOnDemand& switched,
              const std::vector<std::size_t>& order, const VisitOutputs& visit) {
  const std::shared_ptr<const SwitchedRuns> runs = switched ? switched() : nullptr;
  if (runs != nullptr && runs->run(subject, plan, weights, order, visit)) return;
  run_outputs(subject, lower_simulated(subject.model, subject.layers, plan, weights), order, visit);
}

OpenTrial::OpenTrial(const Subject& subject, const Reference& reference, const Requirement* requirement,
                     const std::vector<std::size_t>& order, bool early_stop, const PairedSamples* paired)
    : subject_(subject),
      reference_(reference),
      requirement_(requirement),
      samples_(order.size()),
      early_stop_(early_stop && requirement != nullptr),
      confidence_(paired == nullptr ? 1 : paired->confidence) {
  if (requirement == nullptr) return;
  for (const std::string& name : subject.judged) {
    if (const auto limit = requirement->limit_for(name)) limits_[name] = *limit;
  }
  if (confidence_ >= 1) return;
  std::vector<double> pairs;
  for (const std::size_t sample : order) pairs.push_back(paired->noise.empty() ? 1 : paired->noise.at(sample));
  // One mistake in any output is one of the trial.
  const double each = 1 - (1 - confidence_) / static_cast<double>(limits_.size());
  for (const auto& [name, limit] : limits_) failures_.emplace(name, EarlyFailure(pairs, paired->chosen, each));
}

bool OpenTrial::add(std::size_t sample, const std::vector<SampleOutcome>& outcomes) {
  double noise = 0;
  bool nearly_certain = false;
  for (std::size_t i = 0; i < subject_.judged.size(); ++i) {
    const std::string& name = subject_.judged[i];
    const SampleOutcome& one = outcomes[i];
    stats_of(result_.outputs, subject_, name).add(sample, one);
    noise += log_noise(one.error);
    const auto failure = failures_.find(name);
    if (failure == failures_.end()) continue;
    const auto share = damage_share(requirement_->metric, limits_.at(name), one.error, one.rows - one.rows_agreed,
                                    reference_.totals.at(name));
    if (share && failure->second.add(*share)) nearly_certain = true;
  }
  result_.sample_log_noise.push_back(noise);
  ++result_.samples_run;
  if (!early_stop_ || result_.samples_run == samples_) return true;
  for (const auto& [name, limit] : limits_) {
    if (surely_fails(requirement_->metric, limit, result_.outputs[name], reference_.totals.at(name))) {
      result_.stopped_early = true;
      return false;
    }
  }
  if (!nearly_certain) return true;
  result_.stopped_early = true;
  result_.confidence = confidence_;
  return false;
}

TrialResult OpenTrial::result() && {
  // What is drawn from these samples must not depend on the order of their runs.
  for (auto& [name, stats] : result_.outputs) std::ranges::stable_sort(stats.each, {}, &SampleSums::sample);
  bool first = true;
  for (const std::string& name : subject_.judged) {
    const auto limit = limits_.find(name);
    if (limit == limits_.end()) continue;
    OutputStats stats = result_.outputs[name];
    // What was not run can only add error: the reference side is that of all samples, so damage is a lower bound.
    if (result_.stopped_early) {
      const OutputStats& all = reference_.totals.at(name);
      stats.pooled.ref_energy = all.pooled.ref_energy;
      stats.pooled.count = all.pooled.count;
      stats.rows_agreed += all.rows - stats.rows;
      stats.rows = all.rows;
    }
    const double damage = damage_of(requirement_->metric, limit->second, stats);
    if (first || damage > result_.damage) {
      result_.damage = damage;
      // What is nearly certain is that the limit is missed, not by how much.
      result_.metric =
          result_.confidence < 1 && damage <= 1 ? limit->second : metric_value(requirement_->metric, stats);
      result_.output = name;
    }
    first = false;
  }
  if (result_.confidence < 1) result_.damage = std::max(result_.damage, std::nextafter(1.0, 2.0));
  return std::move(result_);
}

bool run_outcomes(const Subject& subject, const Plan& plan, const Reference& reference, RoundedWeights& weights,
                  const std::vector<std::size_t>& order, const SwitchedOnDemand& switched, const KnownPlan* known,
                  const TakeOutcomes& take) {
  std::vector<std::size_t> left = order;
  if (known != nullptr) {
    std::vector<KnownTrials::Outcomes> first = known->trials.first_of(known->plan, order);
    if (subject.ranks != nullptr) first.resize(subject.ranks->least(first.size()));
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (!take(order[i], first[i])) return false;
    }
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(first.size()));
  }
  if (left.empty()) return true;
  bool open = true;
  const Digest compare = [&](SampleResult& sample) {
    sample.outcomes = outcomes_of(subject, reference.outputs.get(sample.index), sample.outputs);
    sample.outputs.clear();
  };
  const auto took = [&](SampleResult sample) {
    open = take(sample.index, sample.outcomes);
    if (known != nullptr) known->trials.add(known->plan, sample.index, std::move(sample.outcomes));
    return open;
  };
  const std::shared_ptr<const SwitchedRuns> runs = switched ? switched() : nullptr;
  if (runs == nullptr || !runs->run(subject, plan, weights, left, compare, took)) {
    run_tensors(subject, lower_simulated(subject.model, subject.layers, plan, weights), subject.judged, left, compare,
                took);
  }
  return open;
}

TrialResult run_trial(const Subject& subject, const Plan& plan, const Reference& reference, RoundedWeights& weights,
                      const Requirement* requirement, const std::vector<std::size_t>& order, bool early_stop,
                      const PairedSamples* paired, const SwitchedOnDemand& switched, const KnownPlan* known) {
  OpenTrial trial(subject, reference, requirement, order, early_stop, paired);
  run_outcomes(
      subject, plan, reference, weights, order, switched, known,
      [&](std::size_t sample, const std::vector<SampleOutcome>& outcomes) { return trial.add(sample, outcomes); });
  return std::move(trial).result();
}

}  // namespace vernier
