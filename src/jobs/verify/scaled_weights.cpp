#include "jobs/verify/scaled_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "base/text.h"
#include "jobs/verify/exact_network.h"
#include "jobs/verify/layer_balance.h"
#include "jobs/verify/output_noise.h"
#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "numerics/grid.h"
#include "plan/nbits_weight.h"
#include "plan/normalized_file.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// The weights and biases of a layer that are in doubt.
using InDoubt = std::vector<FoundDefect*>;

/// The constant of the simulation that each DequantizeLinear or MatMulNBits decodes, and the layer that reads it.
struct Decoded {
  std::map<std::string, std::string> constants, layers;  // by the node's name
};

Decoded decoded_constants(const Model& file, const FloatWeights& weights) {
  Decoded decoded;
  decoded.constants = constants_of_dequantizers(file, weights);
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() == "MatMulNBits" && node.input_size() > 1 && weights.found.contains(node.input(1))) {
        decoded.constants[node.name()] = node.input(1);
        decoded.layers[node.name()] = node.name();
      }
      const bool dequantizes = is_quantization(node, "DequantizeLinear");
      if (dequantizes && decoded.constants.contains(node.name()))
        decoded.layers[node.name()] = readers_of(file, node.output(0));
    }
  });
  return decoded;
}

/// A factor of all values of a constant, and what it leaves of the outputs' noise.
struct CommonFactor {
  double factor = 1, left = 1;
};

/// Trials with other values of a layer, in a file that nothing but its weights is wrong with.
class WeightTrials {
 public:
  WeightTrials(const Subject& subject, const SimulatedFile& simulated, const LayerMatches& matches, std::size_t samples)
      : subject_(subject), samples_(samples) {
    start_from(without_pairs(subject, simulated, matches));
  }

  const Model& model() const { return base_; }

  /// Whether more than a tenth of the outputs' energy is noise.
  bool are_lost() const { return lost_; }

  /// What is left of the noise with these values.
  double with(const std::map<std::string, Tensor>& values) { return noise_->left_in(with_values(values)); }

  /// Noise over signal of the outputs with these values.
  double noise_with(const std::map<std::string, Tensor>& values) { return noise_->of(with_values(values)); }

  /// The factor that a constant needs. Outputs follow a factor of one layer in a straight line, or nearly, so that
  /// their noise is a parabola of it. nullopt: no factor takes most of it away.
  std::optional<CommonFactor> factor_of(const std::string& constant) {
    constexpr double kMostLeft = 0.3, kLeast = 1.05;
    if (const auto held = initializer(base_, constant); !held || held->dtype() != Dtype::Float32) return std::nullopt;
    CommonFactor best;
    std::optional<double> lowest = lowest_near(constant, best);
    if (!lowest && lost_) {  // too far away for a straight line
      for (const double factor : {0.25, 0.5, 2.0, 4.0}) {
        if (const double left = left_times(constant, factor); left < best.left) best = {factor, left};
      }
      if (best.factor != 1) lowest = lowest_near(constant, best);
    }
    for (int step = 0; lowest && step < 3; ++step) {
      const double left = left_times(constant, *lowest);
      if (!(left < best.left)) break;
      best = {*lowest, left};
      if (step < 2) lowest = lowest_near(constant, best);
    }
    if (!(best.left < kMostLeft) || std::max(best.factor, 1 / best.factor) < kLeast) return std::nullopt;
    return best;
  }

  /// From here on the file has these values.
  void take(const std::map<std::string, Tensor>& values) { start_from(with_values(values)); }
  void take(const std::string& constant, double factor) { take({{constant, times(constant, factor)}}); }

 private:
  Model with_values(const std::map<std::string, Tensor>& values) const {
    Model changed = base_;
    for (const auto& [constant, value] : values) put_float(changed, constant, value);
    return changed;
  }

  void start_from(Model base) {
    constexpr double kLost = 0.1;
    noise_.reset();
    base_ = std::move(base);
    noise_.emplace(subject_, base_, samples_);
    lost_ = noise_->of(base_) > kLost;
  }

  Tensor times(const std::string& constant, double factor) const {
    const Tensor held = *initializer(base_, constant);
    Tensor values(Dtype::Float32, held.shape());
    std::ranges::transform(held.floats(), values.mutable_floats().begin(),
                           [&](float value) { return static_cast<float>(static_cast<double>(value) * factor); });
    return values;
  }
  double left_times(const std::string& constant, double factor) {
    return noise_->left_with(constant, times(constant, factor)).value_or(1);
  }
  /// The vertex of the parabola through `middle` and the factors a tenth above and below, if most of the noise is gone
  /// there.
  std::optional<double> lowest_near(const std::string& constant, const CommonFactor& middle) {
    constexpr double kMostLeft = 0.5;
    const double step = 0.1 * middle.factor;
    const double above = left_times(constant, middle.factor + step), below = left_times(constant, middle.factor - step);
    const double curve = (above + below - 2 * middle.left) / (2 * step * step), slope = (above - below) / (2 * step);
    const double gone = slope * slope / (4 * curve);
    if (!(curve > 0) || !(middle.left - gone < kMostLeft)) return std::nullopt;
    const double lowest = middle.factor - slope / (2 * curve);
    return lowest > 0 ? std::optional(lowest) : std::nullopt;
  }

  /// Pairs of activations may be wrong as well, or cut off what a wrong weight makes. A quantizer whose grid begins at
  /// 0 may stand for a Relu, which stays.
  static Model without_pairs(const Subject& subject, const SimulatedFile& simulated, const LayerMatches& matches) {
    FloatValues clamps;
    clamps.activations = dropped_activations(subject, simulated.model, matches);
    for (const QuantizedTensor& pair : simulated.quantized) {
      const bool one_range = is_integer(pair.params.format) && pair.params.scale.size() == 1 && pair.params.block == 0;
      if (one_range && ends_of(pair.params).first == 0)
        clamps.activations.emplace(pair.output, Bounds{0, std::numeric_limits<float>::max()});
    }
    return without_roundings_of_pairs(simulated, simulated.model, clamps, [](std::size_t) { return false; });
  }

  const Subject& subject_;
  const std::size_t samples_;
  Model base_;
  std::optional<OutputNoise> noise_;  // of base_
  bool lost_ = false;                 // the outputs of base_
};

std::map<std::string, Tensor> float_values_of(const InDoubt& layer, const Decoded& decoded,
                                              const FloatWeights& weights) {
  std::map<std::string, Tensor> values;
  for (const FoundDefect* defect : layer) {
    const std::string& constant = decoded.constants.at(defect->node);
    values.emplace(constant, weights.found.at(constant).values);
  }
  return values;
}

/// A weight with a factor that takes most of the noise away.
struct OffWeight {
  FoundDefect* defect = nullptr;
  const InDoubt* layer = nullptr;
  CommonFactor by;
};

/// The one that leaves the least noise, and all that leave as little with the same factor: of layers without biases
/// between them any may have it. If the ranges of neighbours tell which, that one alone.
std::vector<OffWeight> off_weights(std::map<std::string, InDoubt>& layers, const Decoded& decoded,
                                   WeightTrials& trials) {
  constexpr double kAsLittle = 1.05, kSlack = 1e-3, kSameFactor = 0.02;
  std::vector<OffWeight> found;
  for (const auto& [layer, defects] : layers) {
    for (FoundDefect* defect : defects) {
      if (!defect->scaled || defect->kind != "weight-scale") continue;
      if (const auto factor = trials.factor_of(decoded.constants.at(defect->node)))
        found.push_back({defect, &defects, *factor});
    }
  }
  std::ranges::sort(found, {}, [](const OffWeight& one) { return one.by.left; });
  std::erase_if(found, [&, best = found.empty() ? CommonFactor{} : found.front().by](const OffWeight& one) {
    return one.by.left > kAsLittle * best.left + kSlack ||
           std::abs(std::log(one.by.factor / best.factor)) > kSameFactor;
  });
  std::vector<FactorSuspect> suspects;
  for (const OffWeight& one : found) suspects.push_back({decoded.constants.at(one.defect->node), one.by.factor});
  const auto likely = found.size() > 1 ? most_balanced(trials.model(), suspects) : std::nullopt;
  if (likely) found = {found[*likely]};
  return found;
}

/// The weight whose values have one factor that no other layer undoes, beside those of each channel, so that the float
/// model's values do not help: it becomes a defect that is not in doubt, and `trials` goes on without the factor.
void find_common_factor(std::map<std::string, InDoubt>& layers, const Decoded& decoded, const FloatWeights& weights,
                        WeightTrials& trials) {
  constexpr double kMuchBetter = 0.5;
  const std::vector<OffWeight> found = off_weights(layers, decoded, trials);
  if (found.empty()) return;
  const auto& [off, of, by] = found.front();
  if (!(by.left < kMuchBetter * trials.with(float_values_of(*of, decoded, weights)))) return;
  const std::string& constant = decoded.constants.at(off->node);
  trials.take(constant, by.factor);
  off->common = true;
  off->text = fmt::format(
      "all values of '{}' of {} are {:.3g} times what the layer needs. Factors of single channels may be undone by "
      "other layers, but not this one",
      printable(weights.found.at(constant).name), decoded.layers.at(off->node), 1 / by.factor);
  std::vector<std::string> others;
  for (std::size_t i = 1; i < found.size(); ++i) others.push_back(decoded.layers.at(found[i].defect->node));
  if (!others.empty())
    off->text += fmt::format(". The outputs are the same with this factor at {} instead", list_some(others, 4));
}

/// Whether `values` are those of the float model times one factor that is not 1.
bool has_one_factor(const Tensor& values, const Tensor& wanted) {
  constexpr double kLeast = 1.05, kRounding = 0.01;  // of the energy
  if (values.dtype() != Dtype::Float32 || values.shape() != wanted.shape()) return false;
  double both = 0, own = 0, other = 0;
  for (std::size_t i = 0; i < values.floats().size(); ++i) {
    const double a = values.floats()[i], b = wanted.floats()[i];
    both += a * b;
    own += a * a;
    other += b * b;
  }
  if (!(both > 0)) return false;
  const double factor = both / other;
  return own - factor * both < kRounding * own && std::max(factor, 1 / factor) > kLeast;
}

/// The fewest of `off` whose float values leave about as little noise as those of all, or hardly any; of equally
/// many those that leave the least. Past a number of trials: all but those that heal nothing, dropped one by one.
InDoubt fewest_that_heal(const InDoubt& off, const Decoded& decoded, const FloatWeights& weights,
                         WeightTrials& trials) {
  constexpr double kAsGood = 4, kRounding = 3e-3;  // the roundings of other weights; a factor of 1.05 leaves as much
  constexpr std::size_t kMostTrials = 128;
  const auto noise_with = [&](const InDoubt& some) {
    return trials.noise_with(float_values_of(some, decoded, weights));
  };
  const double limit = std::max(kAsGood * noise_with(off), kRounding);
  std::size_t tried = 0;
  for (std::size_t size = 1; size < off.size() && tried < kMostTrials; ++size) {
    std::vector<bool> taken(off.size());
    std::fill_n(taken.begin(), size, true);
    std::pair<double, InDoubt> best{limit, {}};
    do {
      InDoubt some;
      for (std::size_t i = 0; i < off.size(); ++i) {
        if (taken[i]) some.push_back(off[i]);
      }
      if (const double noise = noise_with(some); noise <= best.first) best = {noise, std::move(some)};
    } while (++tried < kMostTrials && std::prev_permutation(taken.begin(), taken.end()));
    if (!best.second.empty()) return best.second;
  }
  InDoubt kept = off;
  for (FoundDefect* one : off) {
    InDoubt others;
    std::ranges::copy_if(kept, std::back_inserter(others), [&](const auto* defect) { return defect != one; });
    if (noise_with(others) <= limit) kept = std::move(others);
  }
  return kept;
}

/// Of several weights with one factor each, where the float model's values of all together take the noise of a lost
/// file away, the fewest that do: they are not in doubt, and `trials` goes on with these values. Factors of the others
/// may undo each other. Returns whether there are any.
bool find_several_factors(const std::map<std::string, InDoubt>& layers, const Decoded& decoded,
                          const FloatWeights& weights, WeightTrials& trials) {
  constexpr double kHealed = 0.1;
  if (!trials.are_lost()) return false;
  InDoubt off;
  for (const auto& [layer, found] : layers) {
    std::ranges::copy_if(found, std::back_inserter(off), [&](const FoundDefect* defect) {
      const std::string& constant = decoded.constants.at(defect->node);
      const auto held = initializer(trials.model(), constant);
      return defect->kind == "weight-scale" && defect->scaled && held &&
             has_one_factor(*held, weights.found.at(constant).values);
    });
  }
  if (off.size() < 2 || !(trials.with(float_values_of(off, decoded, weights)) < kHealed)) return false;
  const InDoubt wrong = fewest_that_heal(off, decoded, weights, trials);
  for (FoundDefect* defect : wrong) defect->common = true;
  trials.take(float_values_of(wrong, decoded, weights));
  return true;
}

/// In a lost file, the layer whose float values alone leave hardly any noise is wrong: `trials` goes on with these, so
/// that what other layers undo is not blamed for the rest.
void heal_lost_outputs(const std::map<std::string, InDoubt>& layers, const Decoded& decoded,
                       const FloatWeights& weights, WeightTrials& trials) {
  constexpr double kHardlyAny = 0.01;  // of the energy
  if (!trials.are_lost()) return;
  std::pair<double, std::map<std::string, Tensor>> best{kHardlyAny, {}};
  for (const auto& [layer, found] : layers) {
    std::map<std::string, Tensor> values = float_values_of(found, decoded, weights);
    if (const double noise = trials.noise_with(values); noise < best.first) best = {noise, std::move(values)};
  }
  if (!best.second.empty()) trials.take(best.second);
}

}  // namespace

void doubt_weights(std::vector<FoundDefect>& defects, const Model& file, const Subject& subject,
                   const SimulatedFile& simulated, const FloatWeights& weights, const LayerMatches& matches) {
  constexpr std::size_t kMostLayers = 128;
  constexpr double kTwice = 2, kSurely = 4;  // of values that may be wrong in themselves
  const Decoded decoded = decoded_constants(file, weights);
  const auto in_other_form = [&](const FoundDefect& defect) {
    return weights.found.at(decoded.constants.at(defect.node)).other_form;
  };
  std::map<std::string, InDoubt> layers;  // the weight and the bias of one have the same factors
  for (FoundDefect& defect : defects) {
    if (!decoded.layers.contains(defect.node)) continue;
    const bool doubted = defect.scaled || in_other_form(defect) || (defect.kind == "other-values" && !defect.moved);
    if (doubted) layers[decoded.layers.at(defect.node)].push_back(&defect);
  }
  if (layers.empty()) return;
  if (layers.size() > kMostLayers) {  // those in another form all at once
    InDoubt together;
    for (const auto& [layer, found] : layers)
      std::ranges::copy_if(found, std::back_inserter(together), [&](const auto* one) { return in_other_form(*one); });
    layers.clear();
    if (together.empty()) return;
    layers.emplace("", std::move(together));
  }
  const std::size_t samples = std::clamp<std::size_t>(2 * kMostLayers / layers.size(), 1, OutputNoise::kSamples);
  WeightTrials trials(subject, simulated, matches, samples);
  heal_lost_outputs(layers, decoded, weights, trials);
  if (!find_several_factors(layers, decoded, weights, trials)) find_common_factor(layers, decoded, weights, trials);
  // Of little noise two roundings may cancel each other; of much there is no twice as much.
  const double worse = trials.are_lost() ? 1 : kTwice;
  for (const auto& [layer, found] : layers) {
    const double left = trials.with(float_values_of(found, decoded, weights));
    for (FoundDefect* defect : found) {
      const bool sure = defect->scaled || in_other_form(*defect);
      defect->undone = !defect->common && !(left <= (sure ? worse : kSurely));
      if (!defect->undone) defect->scaled = false;
    }
  }
}

std::set<std::string> excuse_weights(std::vector<FoundDefect>& defects, const RunFigures& figures,
                                     std::vector<Note>& notes) {
  constexpr double kAgrees = 15;  // dB
  const bool agrees = !figures.outputs.empty() && std::ranges::all_of(figures.outputs, [](const OutputFigure& output) {
    return output.sqnr_db >= kAgrees;
  });
  std::set<std::string> excused;
  std::size_t scaled = 0, others = 0;
  for (const FoundDefect& defect : defects) {
    if (defect.common) excused.insert(defect.node);  // of its other factors
  }
  std::erase_if(defects, [&](const FoundDefect& defect) {
    if (!defect.undone && !(defect.scaled && agrees)) return false;
    excused.insert(defect.node);
    (defect.scaled ? scaled : others) += 1;
    return true;
  });
  if (scaled > 0) notes.push_back({"weights-equalized", {{"count", scaled}}});
  if (others > 0) notes.push_back({"weights-undone", {{"count", others}}});
  std::erase_if(defects, &FoundDefect::of_weight_scale);  // their weights are what is wrong
  return excused;
}

}  // namespace vernier
