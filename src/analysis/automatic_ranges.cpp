#include "analysis/automatic_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "analysis/judged_tensors.h"
#include "analysis/kept_tries.h"
#include "analysis/output_store.h"
#include "analysis/own_error.h"
#include "analysis/paired_gain.h"
#include "analysis/requirement.h"
#include "analysis/run_identity.h"
#include "analysis/run_tensors.h"
#include "base/text.h"
#include "distributed/ranks.h"
#include "numerics/metrics.h"
#include "numerics/range_methods.h"
#include "plan/calibrate.h"
#include "plan/target.h"
#include "vernier/calibration.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::size_t kShadowSamples = 16;  // single layers: every pixel of a tensor is a sample
constexpr std::size_t kWholeSamples = 64;   // whole networks: outputs may be a few numbers
constexpr std::array kMethods{"minmax", "percentile:99.999", "percentile:99.99", "percentile:99.9", "entropy", "mse",
                              "aciq"};
/// A mixture leaves the method that it starts from only where another has at most this share of its error.
constexpr std::array kMixtures{1.0, 0.8, 0.5};
using RangesByTensor = std::map<std::string, RangeStats>;

/// Ranges learned from one half of the samples are judged on the other.
struct Fold {
  std::optional<std::size_t> learned_from;  // neither half: there are too few samples for two
  std::vector<std::size_t> layers;          // samples that single layers are judged on
  std::vector<std::size_t> network;         // and whole networks
};

struct Candidate {
  std::string name;
  RangesByTensor ranges;                       // learned from all samples
  std::vector<RangesByTensor> of_folds;        // learned from a half each
  std::map<std::string, std::string> methods;  // of a mixture
  std::map<std::string, double> error;         // of each layer, as a share of its output's energy
};

/// At most `most` of the samples [first, end): spread evenly, or the first ones of a sequence.
std::vector<std::size_t> some_of(std::size_t first, std::size_t end, std::size_t most, bool sequence) {
  const std::size_t wanted = std::min(end - first, most);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < wanted; ++i) order.push_back(first + (sequence ? i : i * (end - first) / wanted));
  return order;
}

std::vector<Fold> folds_of(const Subject& subject) {
  const std::size_t all = subject.samples->size();
  const std::size_t middle = all / 2;  // as histograms are halved
  const bool sequence = !subject.carries.empty();
  const auto fold = [&](std::optional<std::size_t> learned_from, std::size_t first, std::size_t end,
                        std::size_t folds) {
    return Fold{learned_from, some_of(first, end, kShadowSamples / folds, sequence),
                some_of(first, end, kWholeSamples / folds, sequence)};
  };
  if (middle == 0) return {fold(std::nullopt, 0, all, 1)};
  if (sequence) return {fold(1, 0, middle, 1)};  // a state can only be carried from the start
  return {fold(1, 0, middle, 2), fold(0, middle, all, 2)};
}

/// What runs the candidates: the plan with the grids that their ranges give.
class Tryout {
 public:
  Tryout(const Subject& subject, const Plan& plan, const std::vector<Fold>& folds)
      : subject_(subject), plan_(plan), folds_(folds), judged_(judged_tensors(subject)) {
    for (const Fold& fold : folds) {
      run(subject.model, fold, [&](std::size_t sample, const std::vector<Tensor>& ref) {
        exact_.put(sample, ref);
        return true;
      });
    }
  }

  std::size_t samples() const {
    std::size_t sum = 0;
    for (const Fold& fold : folds_) sum += fold.network.size();
    return sum;
  }

  std::map<std::string, double> layer_errors(const Candidate& candidate) {
    std::map<std::string, ErrorStats> sums;
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      Plan plan = planned(candidate.of_folds[f]);
      // Inputs only, under every target: what a layer's own result is rounded to belongs to the layers that read that.
      plan.target = Target::TensorRt;
      for (const LayerError& error : own_error(subject_, plan, weights(), &folds_[f].layers)) {
        sums[error.layer] += error.error;
      }
    }
    std::map<std::string, double> errors;
    for (const auto& [layer, sum] : sums) errors[layer] = noise_to_signal(sum);
    return errors;
  }

  /// Where candidates are judged, in words.
  std::string place() const {
    const bool inside =
        std::ranges::any_of(judged_, [](const JudgedTensor& tensor) { return !tensor.softmax.empty(); });
    return inside ? "at the output, in front of its Softmax," : "at the output";
  }

  Noise noise(const Candidate& candidate) {
    Noise noise(judged_.size());
    for (std::size_t f = 0; f < folds_.size(); ++f) {
      Model low = lower_simulated(subject_.model, subject_.layers, planned(candidate.of_folds[f]), weights());
      run(std::move(low), folds_[f], [&](std::size_t sample, const std::vector<Tensor>& got) {
        const std::vector<Tensor> ref = exact_.get(sample);
        for (std::size_t o = 0; o < noise.size(); ++o) noise[o].push_back(energy(sample, ref[o], got[o]));
        return true;
      });
    }
    return noise;
  }

 private:
  void run(Model model, const Fold& fold, const VisitTensors& visit) {
    run_judged(subject_, judged_, std::move(model), fold.network, visit);
  }

  static double energy(std::size_t sample, const Tensor& ref, const Tensor& got) {
    OutputStats stats;
    const ErrorStats error = stats.add_sample(sample, ref, got);
    return error.finite() ? error.error_energy : std::numeric_limits<double>::infinity();
  }

  Plan planned(const RangesByTensor& ranges) const {
    Plan plan = plan_;
    calibrate_plan(plan, subject_.model, subject_.layers, ranges);
    return plan;
  }

  /// Weights are rounded alike for all candidates, except where their steps depend on those of their inputs.
  RoundedWeights& weights() {
    if (plan_.target == Target::OnnxRuntime) weights_ = std::make_unique<RoundedWeights>();
    return *weights_;
  }

  const Subject& subject_;
  const Plan& plan_;
  const std::vector<Fold>& folds_;
  std::vector<JudgedTensor> judged_;
  OutputStore exact_;
  std::unique_ptr<RoundedWeights> weights_ = std::make_unique<RoundedWeights>();
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
      for (std::size_t f = 0; f < mixed.of_folds.size(); ++f) mixed.of_folds[f][tensor] = best->of_folds[f].at(tensor);
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
                                      std::size_t threads, const std::vector<Fold>& folds,
                                      std::map<std::string, Mask>& masks) {
  std::vector<Candidate> candidates;
  for (const char* method : kMethods) {
    const CalibrationChoice choice = *parse_calibration_method(method);
    std::map<std::string, Format> with_levels = tensors;
    std::erase_if(with_levels, [&](const auto& tensor) { return !has_levels_for(choice, tensor.second); });
    if (with_levels.empty()) continue;
    Candidate candidate;
    candidate.name = method;
    ChosenRanges chosen = choose_ranges(choice, with_levels, reference, threads);
    masks.merge(chosen.masks);
    candidate.ranges = std::move(chosen.ranges);
    for (const Fold& fold : folds) {
      candidate.of_folds.push_back(choose_ranges(choice, with_levels, reference, threads, fold.learned_from).ranges);
    }
    if (!candidates.empty()) {
      const Candidate& minmax = candidates.front();
      candidate.ranges.insert(minmax.ranges.begin(), minmax.ranges.end());
      for (std::size_t f = 0; f < folds.size(); ++f) {
        candidate.of_folds[f].insert(minmax.of_folds[f].begin(), minmax.of_folds[f].end());
      }
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

std::string identity_of_tries(const Subject& subject, const Plan& plan, const std::map<std::string, Format>& tensors,
                              const Reference& reference) {
  std::string text = fmt::format("tries\n{}{}\n{}\n", run_identity(subject), reference.data_sha256, plan_to_json(plan));
  for (const auto& [tensor, format] : tensors) text += fmt::format("{} {}\n", tensor, format_name(format));
  return text;
}

struct Tried {
  Candidate candidate;
  Noise noise;
  Gain gain;  // over minmax
  double sure_gain() const { return gain.sure(); }
};

}  // namespace

AutomaticRanges choose_automatically(const Subject& subject, const Plan& plan,
                                     const std::map<std::string, Format>& tensors, const Reference& reference,
                                     PartialRuns* partial) {
  AutomaticRanges automatic;
  const std::vector<Fold> folds = folds_of(subject);
  std::vector<Candidate> methods = candidates_for(tensors, reference, subject.threads, folds, automatic.chosen.masks);
  Tryout tryout(subject, plan, folds);
  const bool alone = subject.ranks == nullptr || subject.ranks->alone();
  KeptTries tries(alone ? partial : nullptr, identity_of_tries(subject, plan, tensors, reference));
  std::vector<Tried> tried;
  const auto try_out = [&](Candidate candidate) {
    Noise noise = tries.network(candidate.name, [&] { return tryout.noise(candidate); });
    const Gain gain = tried.empty() ? Gain{} : gain_over(tried.front().noise, noise);
    tried.push_back({std::move(candidate), std::move(noise), gain});
  };
  for (Candidate& method : methods) {
    method.error = tries.layers(method.name, [&] { return tryout.layer_errors(method); });
    try_out(method);
  }
  const auto surest = [&] {
    return static_cast<std::size_t>(std::ranges::max_element(tried, {}, &Tried::sure_gain) - tried.begin());
  };
  const std::size_t single = surest();
  const Mixer mixer(subject, methods);
  for (const std::size_t base : std::set<std::size_t>{0, single}) {
    for (const double part : kMixtures) try_out(mixer.mixture(methods[base], part));
  }
  const Tried& minmax = tried.front();
  const Tried* chosen = &tried[surest()];
  Candidate best = chosen->candidate.methods.empty() ? mixer.mixture(chosen->candidate, 0) : chosen->candidate;
  std::map<std::string, std::size_t> uses;
  for (const auto& [tensor, method] : best.methods) ++uses[method];
  std::string used;
  for (const auto& [method, count] : uses) used += fmt::format("{}{} {}", used.empty() ? "" : ", ", method, count);
  const auto decibels = [&](const Tried& other) {
    return 10 * (chosen->gain.nats - other.gain.nats) / std::log(10) / static_cast<double>(subject.judged.size());
  };
  automatic.answer =
      fmt::format("methods by tensor: {}; {} {:.2f} dB above minmax alone", used, tryout.place(), decibels(minmax));
  if (single != 0) {
    automatic.answer += fmt::format(", {:.2f} dB above {}, the best single method", decibels(tried[single]),
                                    tried[single].candidate.name);
  }
  automatic.answer += fmt::format(", on {}{}", plural(tryout.samples(), "sample"),
                                  folds.front().learned_from ? " that their ranges were not learned from" : "");
  automatic.chosen.ranges = std::move(best.ranges);
  automatic.methods = std::move(best.methods);
  return automatic;
}

}  // namespace vernier
