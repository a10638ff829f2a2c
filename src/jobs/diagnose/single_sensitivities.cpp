#include "jobs/diagnose/single_sensitivities.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/sensitivity.h"

namespace vernier {
namespace {

/// How many samples the sensitivities of single layers are measured on: four, and fewer where that takes long. Each
/// layer costs about half an inference a sample. Six found no smaller sets: over 65 searches of nine networks, four
/// kept 574 layers in all and six 575. Decided by work, not by time: the same network gives the same answer everywhere.
std::size_t sample_count(std::int64_t macs_of_a_sample, std::size_t layers) {
  constexpr double kWork = 8e11;  // multiply-accumulates: about ten seconds on two cores
  const double work = static_cast<double>(std::max<std::int64_t>(macs_of_a_sample, 1)) * static_cast<double>(layers);
  return static_cast<std::size_t>(std::clamp(kWork / work, 2.0, 4.0));
}

/// Mostly the hardest under all-low, the rest spread evenly, so that no single photo decides; and for how many of all
/// samples each stands: the hardest for themselves, the spread ones for the rest.
std::pair<std::vector<std::size_t>, std::vector<double>> chosen_samples(const std::vector<double>& noise,
                                                                        std::size_t wanted) {
  std::vector<std::size_t> chosen(noise.size());
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  std::ranges::stable_sort(chosen, [&](std::size_t a, std::size_t b) { return noise[a] > noise[b]; });
  const std::size_t hard = std::min(noise.size(), (wanted + 1) / 2);
  const std::size_t spread = std::min(wanted, noise.size()) - hard;
  chosen.resize(hard);
  std::vector<double> weights(hard, 1);
  for (std::size_t k = 0; k < spread; ++k) {
    std::size_t at = (2 * k + 1) * noise.size() / (2 * spread);
    while (std::ranges::find(chosen, at % noise.size()) != chosen.end()) ++at;
    chosen.push_back(at % noise.size());
    weights.push_back(static_cast<double>(noise.size() - hard) / static_cast<double>(spread));
  }
  return {std::move(chosen), std::move(weights)};
}

/// For each of them half of the network's nodes run again. A node takes about a microsecond, so that 20 million are
/// some 20 seconds of work a sample.
std::size_t most_layers(const Experiment& experiment) {
  constexpr std::size_t kNodeRuns = 20'000'000;
  const int nodes = experiment.subject().model.proto.graph().node_size();
  return std::max<std::size_t>(64, kNodeRuns / static_cast<std::size_t>(std::max(nodes, 1)));
}

std::size_t layers_to_measure(const Experiment& experiment) {
  return std::min(measurable_layers(experiment).size(), most_layers(experiment));
}

std::size_t few_samples(const Experiment& experiment) {
  return sample_count(total_macs(experiment), layers_to_measure(experiment));
}

/// Adds sums of other samples.
void add(const OutputStats& more, OutputStats& sums) {
  const bool first = sums.samples == 0;
  sums.pooled += more.pooled;
  sums.lost_infinities += more.lost_infinities;
  if (first || std::isnan(sums.worst_sqnr_db) || more.worst_sqnr_db < sums.worst_sqnr_db) {
    sums.worst_sqnr_db = more.worst_sqnr_db;
    sums.worst_sample = more.worst_sample;
  }
  sums.samples += more.samples;
  sums.along_last = more.along_last;
  sums.rows += more.rows;
  sums.rows_agreed += more.rows_agreed;
  sums.each.insert(sums.each.end(), more.each.begin(), more.each.end());
}

}  // namespace

std::vector<std::string> measurable_layers(const Experiment& experiment) {
  std::vector<std::string> names;
  for (const Layer* layer : experiment.candidates()) {
    if (layer->graph.empty()) names.push_back(layer->name);
  }
  return names;
}

double expected_sample_inferences(const Experiment& experiment) {
  constexpr double kBehind = 0.55;  // of the network, on the average of its layers
  const std::size_t samples = std::min(few_samples(experiment), experiment.subject().samples->size());
  return kBehind * static_cast<double>(layers_to_measure(experiment) * samples);
}

void SingleSensitivities::measure() {
  measure_on(few_samples(experiment_), names());
  evidence_.presumed.clear();
  others_ = 0;
}

void SingleSensitivities::measure_worst() {
  constexpr std::size_t kMany = 32;
  const std::vector<std::string> all = names();
  const std::size_t samples = few_samples(experiment_);
  if (all.size() < kMany || samples < 2 || !experiment_.subject().carries.empty()) return measure();
  const bool told =
      std::ranges::all_of(all, [&](const std::string& name) { return evidence_.presumed.contains(name); });
  if (!told) measure_on(1, all);
  std::vector<std::pair<double, std::string>> damages;
  for (const std::string& name : all) {
    damages.emplace_back(predicted_damage(evidence_, name, experiment_.requirement()), name);
  }
  std::ranges::stable_sort(damages, std::greater(), [](const auto& one) { return one.first; });
  std::vector<std::string> worst;
  evidence_.presumed.clear();
  for (const auto& [damage, name] : damages) {
    if (worst.size() < all.size() / 3 || !std::isfinite(damage)) {
      worst.push_back(name);
    } else {
      evidence_.presumed[name] = damage;
      evidence_.alone.erase(name);
    }
  }
  measure_on(samples, worst);
  others_ = evidence_.presumed.size();
}

void SingleSensitivities::measure_kept(const std::vector<std::string>& kept) {
  std::vector<std::string> wanted;
  for (const std::string& name : names()) {
    if (std::ranges::find(kept, name) != kept.end()) wanted.push_back(name);
  }
  measure_on(few_samples(experiment_), wanted);
  for (const std::string& name : wanted) evidence_.presumed.erase(name);
  others_ = evidence_.presumed.size();
  kept_alone_ = true;
}

bool SingleSensitivities::measure_more() {
  if (evidence_.alone.empty()) {
    evidence_.presumed.clear();  // it led astray
    measure_worst();
    return true;
  }
  if (others_ > 0) {
    measure();
    return true;
  }
  const std::size_t more = std::min(experiment_.subject().samples->size(), 3 * samples_);
  if (!experiment_.subject().carries.empty() || more <= samples_) return false;
  measure_on(more, names());
  return true;
}

void SingleSensitivities::measure_on(std::size_t samples, const std::vector<std::string>& layers) {
  const Subject& subject = experiment_.subject();
  if (!subject.carries.empty()) return measure_by_trials();
  SensitivityOptions options;
  std::tie(options.samples, evidence_.alone_weights) = chosen_samples(experiment_.all_low().sample_noise, samples);
  samples_ = options.samples.size();
  // What was measured on the first of them alone is not measured again.
  const std::vector<std::size_t> first{options.samples.front()};
  std::vector<std::string> unknown;
  bool first_known = options.samples.size() > 1;
  for (const std::string& name : layers) {
    if (auto outputs = measured_.alone(name, options.samples)) {
      evidence_.alone[name] = std::move(*outputs);
      continue;
    }
    unknown.push_back(name);
    first_known = first_known && measured_.alone(name, first);
  }
  if (unknown.empty()) return;
  const std::vector<std::size_t> all = options.samples;
  if (first_known) options.samples.erase(options.samples.begin());
  // Each part is kept at once: of a large network all of them take minutes.
  options.found = [&](const std::vector<LayerSensitivity>& part) {
    for (const LayerSensitivity& sensitivity : part) {
      Measured::Outputs outputs;
      if (first_known) outputs = *measured_.alone(sensitivity.layer, first);
      for (const auto& [output, stats] : sensitivity.outputs) {
        if (const auto [place, fresh] = outputs.try_emplace(output, stats); !fresh) add(stats, place->second);
      }
      measured_.add_alone(sensitivity.layer, all, outputs);
      evidence_.alone[sensitivity.layer] = std::move(outputs);
    }
    measured_.keep();
  };
  const std::shared_ptr<const SwitchedRuns> switched = experiment_.switched();
  const Sensitivities measured =
      measure_sensitivities(subject, experiment_.all_low_plan(), unknown, experiment_.reference().outputs,
                            experiment_.shapes(), experiment_.weights, options, switched.get());
  ::malloc_trim(0);  // tensors between the parts of all samples, which the C library would keep
  inferences_ += measured.mean_suffix_share * static_cast<double>(measured.layers.size() * options.samples.size());
}

/// With carried states a suffix would need the state of every sample before: whole runs over a short sequence instead.
void SingleSensitivities::measure_by_trials() {
  std::vector<std::size_t> order = all_samples(experiment_.subject());
  order.resize(std::min<std::size_t>(order.size(), 64));
  for (const std::string& name : names()) {
    std::vector<std::string> others;
    for (const Layer* other : experiment_.candidates()) {
      if (other->name != name) others.push_back(other->name);
    }
    inferences_ += static_cast<double>(order.size());
    evidence_.alone[name] = experiment_.run_keeping(others, nullptr, order, /*early_stop=*/false).outputs;
  }
}

std::vector<std::string> SingleSensitivities::names() const {
  std::vector<std::string> names = measurable_layers(experiment_);
  const std::size_t most = most_layers(experiment_);
  if (names.size() <= most) return names;
  std::ranges::stable_sort(names, std::greater(), [&](const std::string& name) { return own_noise(evidence_, name); });
  names.resize(most);
  return names;
}

std::optional<Note> SingleSensitivities::left_out() const {
  if (others_ > 0) {
    const std::size_t measured = evidence_.alone.size();
    if (kept_alone_) return Note{"sensitivities-of-the-kept", {{"measured", measured}, {"others", others_}}};
    return Note{"sensitivities-of-the-worst", {{"measured", measured}, {"others", others_}}};
  }
  const std::size_t all = measurable_layers(experiment_).size();
  const std::size_t measured = layers_to_measure(experiment_);
  if (measured == all) return std::nullopt;
  return Note{"sensitivities-left-out", {{"measured", measured}, {"others", all - measured}}};
}

}  // namespace vernier
