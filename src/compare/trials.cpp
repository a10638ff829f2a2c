#include "compare/trials.h"

#include <cmath>
#include <utility>

#include "compare/surgery.h"

namespace vernier {

double log_noise(const ErrorStats& stats) {
  constexpr double kHopeless = 1e3;
  if (!stats.finite()) return kHopeless;
  if (stats.ref_energy == 0) return stats.error_energy == 0 ? std::log(1e-15) : kHopeless;
  return std::log(stats.error_energy / stats.ref_energy + 1e-15);
}

void run_outputs(const Subject& subject, Model model, const std::vector<std::size_t>& order,
                 const VisitOutputs& visit) {
  std::map<std::string, Dtype> dtypes;
  for (const InputInfo& output : model_outputs(subject.model)) dtypes[output.name] = output.dtype;
  std::vector<std::pair<std::string, Dtype>> outputs;
  for (const std::string& name : subject.judged) outputs.emplace_back(name, dtypes[name]);
  for (const Carry& carry : subject.carries) outputs.emplace_back(carry.output, dtypes[carry.output]);
  set_outputs(model, outputs);
  const Session session = subject.session(model);
  run_samples(subject, session, order, {}, "trial", [&](SampleResult sample) {
    sample.outputs.resize(subject.judged.size());
    return visit(sample.index, sample.outputs);
  });
}

TrialResult run_trial(const Subject& subject, const Plan& plan, const Reference& reference, RoundedWeights& weights,
                      const Requirement* requirement, const std::vector<std::size_t>& order, bool early_stop) {
  TrialResult result;
  Model model = lower_simulated(subject.model, subject.layers, plan, weights);
  run_outputs(subject, std::move(model), order, [&](std::size_t sample, const std::vector<Tensor>& got) {
    const std::vector<Tensor> ref = reference.outputs.get(sample);
    double noise = 0;
    for (std::size_t i = 0; i < subject.judged.size(); ++i) {
      noise += log_noise(result.outputs[subject.judged[i]].add_sample(sample, ref[i], got[i]));
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
    return true;
  });
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
      result.metric = metric_value(requirement->metric, stats);
      result.output = name;
    }
    first = false;
  }
  return result;
}

}  // namespace vernier
