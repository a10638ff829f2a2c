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

namespace {

/// Early failures of each judged output with a limit.
class EarlyFailures {
 public:
  EarlyFailures(const Requirement* requirement, const Reference& reference, const std::vector<std::string>& judged,
                const std::vector<std::size_t>& order, const PairedSamples* paired)
      : reference_(reference) {
    if (requirement == nullptr || paired == nullptr || paired->confidence >= 1) return;
    std::vector<double> pairs;
    for (const std::size_t sample : order) pairs.push_back(paired->noise.empty() ? 1 : paired->noise.at(sample));
    for (const std::string& name : judged) {
      if (const auto limit = requirement->limit_for(name)) limits_[name] = *limit;
    }
    metric_ = requirement->metric;
    // One mistake in any output is one of the trial.
    const double confidence = 1 - (1 - paired->confidence) / static_cast<double>(limits_.size());
    for (const auto& [name, limit] : limits_) {
      failures_.emplace(name, EarlyFailure(pairs, paired->chosen, confidence));
    }
  }

  bool add(const std::string& output, const ErrorStats& sample, std::int64_t rows_wrong) {
    const auto failure = failures_.find(output);
    if (failure == failures_.end()) return false;
    const auto share = damage_share(metric_, limits_.at(output), sample, rows_wrong, reference_.totals.at(output));
    return share && failure->second.add(*share);
  }

 private:
  const Reference& reference_;
  Metric metric_ = Metric::MinSqnrDb;
  std::map<std::string, double> limits_;
  std::map<std::string, EarlyFailure> failures_;
};

}  // namespace

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

TrialResult run_trial(const Subject& subject, const Plan& plan, const Reference& reference, RoundedWeights& weights,
                      const Requirement* requirement, const std::vector<std::size_t>& order, bool early_stop,
                      const PairedSamples* paired, const SwitchedOnDemand& switched, const KnownPlan* known) {
  TrialResult result;
  EarlyFailures failures(requirement, reference, subject.judged, order, paired);
  // False: the verdict is certain.
  const auto take = [&](std::size_t sample, const KnownTrials::Outcomes& outcomes) {
    double noise = 0;
    bool nearly_certain = false;
    for (std::size_t i = 0; i < subject.judged.size(); ++i) {
      const SampleOutcome& one = outcomes[i];
      stats_of(result.outputs, subject, subject.judged[i]).add(sample, one);
      noise += log_noise(one.error);
      const bool fails = failures.add(subject.judged[i], one.error, one.rows - one.rows_agreed);
      nearly_certain = nearly_certain || fails;
    }
    result.sample_log_noise.push_back(noise);
    ++result.samples_run;
    if (!early_stop || requirement == nullptr || result.samples_run == order.size()) return true;
    for (const std::string& name : subject.judged) {
      const auto limit = requirement->limit_for(name);
      if (limit && surely_fails(requirement->metric, *limit, result.outputs[name], reference.totals.at(name))) {
        result.stopped_early = true;
        return false;
      }
    }
    if (nearly_certain) {
      result.stopped_early = true;
      result.confidence = paired->confidence;
      return false;
    }
    return true;
  };
  bool open = true;
  std::vector<std::size_t> left = order;
  if (known != nullptr) {
    std::vector<KnownTrials::Outcomes> first = known->trials.first_of(known->plan, order);
    if (subject.ranks != nullptr) first.resize(subject.ranks->least(first.size()));
    for (std::size_t i = 0; open && i < first.size(); ++i) open = take(order[i], first[i]);
    left.erase(left.begin(), left.begin() + static_cast<std::ptrdiff_t>(first.size()));
  }
  if (open && !left.empty()) {
    const Digest compare = [&](SampleResult& sample) {
      sample.outcomes = outcomes_of(subject, reference.outputs.get(sample.index), sample.outputs);
      sample.outputs.clear();
    };
    const auto took = [&](SampleResult sample) {
      const bool more = take(sample.index, sample.outcomes);
      if (known != nullptr) known->trials.add(known->plan, sample.index, std::move(sample.outcomes));
      return more;
    };
    const std::shared_ptr<const SwitchedRuns> runs = switched ? switched() : nullptr;
    if (runs == nullptr || !runs->run(subject, plan, weights, left, compare, took)) {
      run_tensors(subject, lower_simulated(subject.model, subject.layers, plan, weights), subject.judged, left, compare,
                  took);
    }
  }
  if (requirement == nullptr) return result;
  bool first = true;
  for (const std::string& name : subject.judged) {
    const auto limit = requirement->limit_for(name);
    if (!limit) continue;
    OutputStats stats = result.outputs[name];
    // What was not run can only add error: the reference side is that of all samples, so damage is a lower bound.
    if (result.stopped_early) {
      stats.pooled.ref_energy = reference.totals.at(name).pooled.ref_energy;
      stats.pooled.count = reference.totals.at(name).pooled.count;
      stats.rows_agreed += reference.totals.at(name).rows - stats.rows;
      stats.rows = reference.totals.at(name).rows;
    }
    const double damage = damage_of(requirement->metric, *limit, stats);
    if (first || damage > result.damage) {
      result.damage = damage;
      // What is nearly certain is that the limit is missed, not by how much.
      result.metric = result.confidence < 1 && damage <= 1 ? *limit : metric_value(requirement->metric, stats);
      result.output = name;
    }
    first = false;
  }
  if (result.confidence < 1) result.damage = std::max(result.damage, std::nextafter(1.0, 2.0));
  return result;
}

}  // namespace vernier
