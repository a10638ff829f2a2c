#include "jobs/diagnose/yardstick.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "analysis/figures.h"
#include "analysis/lost_agreement.h"
#include "analysis/requirement.h"

namespace vernier {
namespace {

/// log(error / signal), not below log(1e-15); of a sample without signal 0 where there is an error.
double log_share(double signal, double error) {
  constexpr double kLeast = 1e-15;
  if (signal <= 0) return error > 0 ? 0 : std::log(kLeast);
  return std::log(error / signal + kLeast);
}

double log_share(const ErrorStats& error) {
  return error.finite() ? log_share(error.ref_energy, error.error_energy) : 0;
}

}  // namespace

void Yardstick::learn_telling(const std::vector<std::size_t>& samples) {
  std::vector<std::size_t> missing;
  for (const std::size_t sample : samples) {
    if (known_.insert(sample).second) missing.push_back(sample);
  }
  if (missing.empty()) return;
  run_judged(subject_, judged_, subject_.model, missing, [&](std::size_t sample, const std::vector<Tensor>& values) {
    telling_.put(sample, values);
    return true;
  });
}

bool Yardstick::looks_inside() const {
  return std::ranges::any_of(judged_, [](const JudgedTensor& one) { return !one.softmax.empty(); });
}

void Yardstick::add_sums(const std::map<std::string, OutputStats>& outputs, OutputError& error) const {
  error.noise = noise_share(outputs);
  error.moved = rows_moved(subject_, outputs);
  if (requirement_ != nullptr) error.damage = deciding_figure(subject_, outputs, *requirement_).damage;
}

std::optional<OutputError> Yardstick::of_outputs(const std::map<std::string, OutputStats>& outputs) const {
  if (looks_inside() || labels_) return std::nullopt;
  OutputError error;
  for (const JudgedTensor& tensor : judged_) {
    const auto stats = outputs.find(tensor.output);
    if (stats == outputs.end() || !stats->second.pooled.finite()) return std::nullopt;
    if (stats->second.each.size() != subject_.samples->size()) return std::nullopt;
    if (!unseen_) continue;
    std::vector<double>& noise = error.log_noise.emplace_back();
    for (const SampleSums& sample : stats->second.each) {
      noise.push_back(log_share(sample.ref_energy, sample.error_energy));
    }
  }
  error.output_log_noise = error.log_noise;
  add_sums(outputs, error);
  error.telling = error.noise;
  return error;
}

OutputError Yardstick::measure(const std::vector<JudgedNetwork>& networks, const KnownPlan* known) {
  const std::size_t outputs = judged_.size();
  std::vector<JudgedTensor> all;
  for (const JudgedTensor& tensor : judged_) all.push_back({tensor.output, {}});
  const bool inside = looks_inside();
  if (inside) all.insert(all.end(), judged_.begin(), judged_.end());

  OutputError error;
  if (unseen_) {
    error.log_noise.resize(outputs);
    error.output_log_noise.resize(outputs);
  }
  std::map<std::string, OutputStats> stats, telling;
  std::vector<std::int64_t> wrong;
  const auto add = [&](std::size_t sample, const KnownTrials::Outcomes& own, const KnownTrials::Outcomes& told) {
    for (std::size_t i = 0; i < outputs; ++i) {
      const std::string& name = judged_[i].output;
      stats_of(stats, subject_, name).add(sample, own[i]);
      if (inside) stats_of(telling, subject_, name).add(sample, told[i]);
      if (!unseen_) continue;
      error.log_noise[i].push_back(log_share(told[i].error));
      error.output_log_noise[i].push_back(log_share(own[i].error));
    }
  };
  for (const JudgedNetwork& network : networks) {
    if (known != nullptr && !inside && !labels_) {
      const std::vector<KnownTrials::Outcomes> before = known->trials.first_of(known->plan, network.samples);
      if (before.size() == network.samples.size()) {
        for (std::size_t k = 0; k < before.size(); ++k) add(network.samples[k], before[k], before[k]);
        continue;
      }
    }
    if (inside) learn_telling(network.samples);
    std::optional<Subject> moved;
    if (network.subject->samples != subject_.samples) moved.emplace(*network.subject).samples = subject_.samples;
    const Subject& own = moved ? *moved : *network.subject;
    Model low = lower_simulated(own.model, own.layers, network.plan, *network.weights);
    run_judged(own, all, std::move(low), network.samples, [&](std::size_t sample, const std::vector<Tensor>& got) {
      const std::span<const Tensor> tested(got);
      const KnownTrials::Outcomes outcomes = outcomes_of(subject_, outputs_.get(sample), tested.first(outputs));
      if (known != nullptr) known->trials.add(known->plan, sample, outcomes);
      add(sample, outcomes, inside ? outcomes_of(subject_, telling_.get(sample), tested.subspan(outputs)) : outcomes);
      if (labels_)
        wrong.push_back(labels_(sample, {got.begin(), got.begin() + static_cast<std::ptrdiff_t>(outputs)}) ? 0 : 1);
      return true;
    });
  }
  add_sums(stats, error);
  error.telling = inside ? noise_share(telling) : error.noise;
  if (labels_) {
    error.moved = std::move(wrong);
    error.moved_words = "a right label";
  }
  error.in_front = std::move(telling);
  return error;
}

}  // namespace vernier
