#include "compare/automatic_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>

#include "compare/own_error.h"
#include "compare/trials.h"
#include "core/text.h"
#include "numerics/range_methods.h"
#include "plan/calibrate.h"
#include "plan/target.h"

namespace vernier {
namespace {

constexpr std::size_t kShadowSamples = 16;  // single layers: every pixel of a tensor is a sample
constexpr std::size_t kWholeSamples = 64;   // whole networks: outputs may be a few numbers
constexpr std::array kMethods{"minmax", "percentile:99.999", "percentile:99.99", "percentile:99.9", "entropy", "mse",
                              "aciq"};
/// A mixture leaves the best single method only where another has at most this share of its error.
constexpr std::array kMixtures{1.0, 0.8, 0.5};
/// In standard deviations of the mean difference between samples: two, because ten are compared.
constexpr double kScatter = 2;

struct Candidate {
  std::string name;
  std::map<std::string, RangeStats> ranges;
  std::map<std::string, std::string> methods;  // of a mixture
  std::map<std::string, double> error;         // of each layer, as a share of its output's energy
};

std::vector<std::size_t> spread_samples(const Subject& subject, std::size_t most) {
  const std::size_t all = subject.samples->size();
  const std::size_t wanted = std::min(all, most);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < wanted; ++i) order.push_back(subject.carries.empty() ? i * all / wanted : i);
  return order;
}

double share(const ErrorStats& stats) {
  if (!stats.finite()) return std::numeric_limits<double>::infinity();
  if (stats.ref_energy == 0) return stats.error_energy == 0 ? 0 : std::numeric_limits<double>::infinity();
  return stats.error_energy / stats.ref_energy;
}

/// Noise of a whole network, as the logarithm of its share of the signal, summed over judged outputs.
struct Noise {
  double pooled = 0;
  std::vector<double> samples;
};

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// True when `noise` is below that of `other`, pooled and for the typical sample, and by more than the scatter of the
/// difference between samples explains: a few samples that happen to round well are no reason to clip all others.
bool surely_below(const Noise& noise, const Noise& other) {
  if (noise.pooled >= other.pooled) return false;
  const std::size_t n = noise.samples.size();
  if (n < 2) return false;
  std::vector<double> gain(n);
  for (std::size_t i = 0; i < n; ++i) gain[i] = other.samples[i] - noise.samples[i];
  const double average = mean(gain);
  double squares = 0;
  for (const double value : gain) squares += (value - average) * (value - average);
  const double deviation_of_mean = std::sqrt(squares / static_cast<double>(n * (n - 1)));
  return average > kScatter * deviation_of_mean;
}

/// What runs the candidates: the plan with the grids that their ranges give.
class Tryout {
 public:
  Tryout(const Subject& subject, const Plan& plan, const Reference& reference)
      : subject_(subject),
        plan_(plan),
        reference_(reference),
        few_(spread_samples(subject, kShadowSamples)),
        many_(spread_samples(subject, kWholeSamples)) {}

  std::size_t samples() const { return many_.size(); }

  std::map<std::string, double> layer_errors(const Candidate& candidate) {
    Plan plan = planned(candidate);
    // Inputs only, under every target: what a layer's own result is rounded to belongs to the layers that read that.
    plan.target = "tensorrt";
    std::map<std::string, double> errors;
    for (const LayerError& error : own_error(subject_, plan, weights_for(candidate), &few_)) {
      errors[error.layer] = share(error.error);
    }
    return errors;
  }

  Noise noise(const Candidate& candidate) {
    TrialResult trial =
        run_trial(subject_, planned(candidate), reference_, weights_for(candidate), nullptr, many_, false);
    Noise noise;
    for (const auto& [output, stats] : trial.outputs) noise.pooled += log_noise(stats.pooled);
    noise.samples = std::move(trial.sample_log_noise);
    return noise;
  }

 private:
  Plan planned(const Candidate& candidate) const {
    Plan plan = plan_;
    calibrate_plan(plan, subject_.model, subject_.layers, candidate.ranges);
    return plan;
  }

  /// Weights are rounded alike for all candidates, except where their steps depend on those of their inputs.
  RoundedWeights& weights_for(const Candidate& candidate) {
    const bool alike = plan_.target != "onnxruntime";
    std::unique_ptr<RoundedWeights>& weights = weights_[alike ? std::string() : candidate.name];
    if (!weights) weights = std::make_unique<RoundedWeights>();
    return *weights;
  }

  const Subject& subject_;
  const Plan& plan_;
  const Reference& reference_;
  std::vector<std::size_t> few_, many_;
  std::map<std::string, std::unique_ptr<RoundedWeights>> weights_;
};

/// The layers that read each tensor in low precision, directly or behind layers that only move values.
std::map<std::string, std::set<std::string>> readers_of(const Subject& subject) {
  std::map<std::string, std::set<std::string>> readers;
  for (auto layer = subject.layers.rbegin(); layer != subject.layers.rend(); ++layer) {
    std::set<std::string> behind{layer->name};
    if (layer->follows) {
      behind.clear();
      for (const std::string& output : layer->outputs) behind.insert(readers[output].begin(), readers[output].end());
    }
    for (const std::string& input : layer->inputs) readers[input].insert(behind.begin(), behind.end());
  }
  return readers;
}

class Mixer {
 public:
  Mixer(const Subject& subject, const std::vector<Candidate>& candidates)
      : readers_(readers_of(subject)), candidates_(candidates) {}

  /// Each tensor as in `base`, or by the method with the least error where that is at most `part` of the base's.
  Candidate mixture(const Candidate& base, double part) const {
    Candidate mixed = base;
    mixed.name = fmt::format("a mixture (at most {} of the error of {})", part, base.name);
    for (auto& [tensor, range] : mixed.ranges) {
      mixed.methods[tensor] = base.name;
      const double limit = error_of(base, tensor) * part;
      const Candidate* best = nullptr;
      double least = std::numeric_limits<double>::infinity();
      for (const Candidate& candidate : candidates_) {
        const double error = error_of(candidate, tensor);
        if (error < least) {
          least = error;
          best = &candidate;
        }
      }
      if (best == nullptr || least > limit || best->name == base.name) continue;
      range = best->ranges.at(tensor);
      mixed.methods[tensor] = best->name;
    }
    return mixed;
  }

 private:
  double error_of(const Candidate& candidate, const std::string& tensor) const {
    double sum = 0;
    const auto readers = readers_.find(tensor);
    if (readers == readers_.end()) return sum;
    for (const std::string& layer : readers->second) {
      const auto error = candidate.error.find(layer);
      if (error != candidate.error.end()) sum += error->second;
    }
    return sum;
  }

  std::map<std::string, std::set<std::string>> readers_;
  const std::vector<Candidate>& candidates_;
};

/// Methods that mean nothing for a format give its smallest and largest value.
std::vector<Candidate> candidates_for(const std::map<std::string, Format>& tensors, const Reference& reference,
                                      std::size_t threads, std::map<std::string, Mask>& masks) {
  std::vector<Candidate> candidates;
  for (const char* method : kMethods) {
    const CalibrationChoice choice = *parse_calibration_method(method);
    std::map<std::string, Format> with_levels = tensors;
    std::erase_if(with_levels, [&](const auto& tensor) { return !has_levels_for(choice, tensor.second); });
    if (with_levels.empty()) continue;
    ChosenRanges chosen = choose_ranges(choice, with_levels, reference, threads);
    masks.merge(chosen.masks);
    Candidate candidate{method, std::move(chosen.ranges), {}, {}};
    if (!candidates.empty()) {
      for (const auto& [tensor, range] : candidates.front().ranges) candidate.ranges.emplace(tensor, range);
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

}  // namespace

AutomaticRanges choose_automatically(const Subject& subject, const Plan& plan,
                                     const std::map<std::string, Format>& tensors, const Reference& reference) {
  AutomaticRanges automatic;
  std::vector<Candidate> candidates = candidates_for(tensors, reference, subject.threads, automatic.chosen.masks);
  Tryout tryout(subject, plan, reference);
  std::vector<Noise> noises;
  std::size_t base = 0;  // minmax, unless another is surely better; of those the best
  for (std::size_t c = 0; c < candidates.size(); ++c) {
    candidates[c].error = tryout.layer_errors(candidates[c]);
    noises.push_back(tryout.noise(candidates[c]));
    const bool first =
        base == 0 ? c > 0
                  : noises[c].pooled + mean(noises[c].samples) < noises[base].pooled + mean(noises[base].samples);
    if (first && surely_below(noises[c], noises[0])) base = c;
  }
  const Mixer mixer(subject, candidates);
  Candidate best = mixer.mixture(candidates[base], 0);
  Noise least = noises[base];
  for (const double part : kMixtures) {
    Candidate mixed = mixer.mixture(candidates[base], part);
    Noise noise = tryout.noise(mixed);
    if (!surely_below(noise, least)) continue;
    least = std::move(noise);
    best = std::move(mixed);
  }
  std::map<std::string, std::size_t> uses;
  for (const auto& [tensor, method] : best.methods) ++uses[method];
  std::string used;
  for (const auto& [method, count] : uses) used += fmt::format("{}{} {}", used.empty() ? "" : ", ", method, count);
  const auto decibels = [&](const Noise& other) {
    return 10 * (other.pooled - least.pooled) / std::log(10) / static_cast<double>(subject.judged.size());
  };
  automatic.answer =
      fmt::format("methods by tensor: {}; at the output {:.2f} dB above minmax alone", used, decibels(noises.front()));
  if (base != 0) {
    automatic.answer +=
        fmt::format(", {:.2f} dB above {}, the best single method", decibels(noises[base]), candidates[base].name);
  }
  automatic.answer += fmt::format(", on {}", plural(tryout.samples(), "sample"));
  automatic.chosen.ranges = std::move(best.ranges);
  automatic.methods = std::move(best.methods);
  return automatic;
}

}  // namespace vernier
