#include "jobs/verify/wrong_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/isolated.h"
#include "jobs/verify/output_noise.h"
#include "jobs/verify/scaled_weights.h"
#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "numerics/distribution.h"
#include "numerics/metrics.h"
#include "plan/normalized_file.h"

namespace vernier {
namespace {

void put_float_bias(Model& model, const std::string& constant, const FloatWeights& weights) {
  onnx::GraphProto* owner = owner_of_initializer(model, constant);
  if (owner != nullptr) set_initializer(model, *owner, constant, weights.found.at(constant).values);
}

/// Drops biases that are `moved` unless a measurement shows that they are wrong, which their texts then say.
void doubt_moved_biases(std::vector<FoundDefect>& defects, const Model& file, const Subject& subject,
                        const SimulatedFile& simulated, const FloatWeights& weights, const LayerMatches& matches) {
  constexpr std::size_t kMostBiases = 16;
  constexpr double kHarmlessDb = 25, kRestOfError = 0.5;
  if (std::ranges::none_of(defects, &FoundDefect::moved)) return;
  const std::map<std::string, std::string> constants = constants_of_dequantizers(file, weights);
  OutputNoise noise(subject, simulated.model);
  Model all = simulated.model;
  for (const FoundDefect& defect : defects) {
    if (defect.moved && constants.contains(defect.node)) put_float_bias(all, constants.at(defect.node), weights);
  }
  const auto given = isolated_errors(noise.subject(), simulated.model, matches.pairs);
  const auto with = isolated_errors(noise.subject(), all, matches.pairs);
  std::size_t asked = 0;
  std::erase_if(defects, [&](FoundDefect& defect) {
    if (!defect.moved) return false;
    const auto constant = constants.find(defect.node);
    const auto match = constant == constants.end() ? std::nullopt : weights.found.at(constant->second).match;
    if (!match || !given[*match] || !with[*match]) return true;
    const ErrorStats &is = *given[*match], &would_be = *with[*match];
    if (sqnr_db(is) >= kHarmlessDb || would_be.error_energy > kRestOfError * is.error_energy) return true;
    if (++asked > kMostBiases) return true;
    const std::optional<double> left = noise.left_with(constant->second, weights.found.at(constant->second).values);
    if (!left || !(*left <= 1)) return true;
    defect.text += fmt::format(
        ". On exact inputs the layer has an SQNR of {:.1f} dB with the float model's values, and {:.1f} dB with these",
        sqnr_db(would_be), sqnr_db(is));
    return false;
  });
}

/// Whether all that a constant cuts off is a mask: values that no score has.
bool cuts_off_a_mask(const Tensor& wanted, const Tensor& held) {
  constexpr float kBeyond = 1.02F;
  const auto [low, high] = std::ranges::minmax(held.floats());
  return std::ranges::all_of(wanted.floats(), [&](float value) {
    return value < -kNoMask || (value >= low * kBeyond && value <= high * kBeyond);
  });
}

/// Drops masks that are cut off where a Softmax still gives what they hide nothing: with the mask of the float model in
/// their place the outputs are no better.
void excuse_masks(std::vector<FoundDefect>& defects, const Model& file, const Subject& subject,
                  const SimulatedFile& simulated, const FloatWeights& weights) {
  constexpr double kNoBetter = 0.99;
  const auto is_clipped = [](const FoundDefect& defect) { return defect.kind == "clipped-weight"; };
  if (std::ranges::none_of(defects, is_clipped)) return;
  const std::map<std::string, std::string> constants = constants_of_dequantizers(file, weights);
  std::optional<OutputNoise> noise;
  std::erase_if(defects, [&](const FoundDefect& defect) {
    const auto constant = constants.find(defect.node);
    if (!is_clipped(defect) || constant == constants.end()) return false;
    const Tensor& wanted = weights.found.at(constant->second).values;
    const auto held = initializer(simulated.model, constant->second);
    if (!held || !cuts_off_a_mask(wanted, *held)) return false;
    if (!noise) noise.emplace(subject, simulated.model);
    const std::optional<double> left = noise->left_with(constant->second, wanted);
    return left && *left >= kNoBetter;
  });
}

}  // namespace

std::vector<FoundDefect> find_wrong_constants(const Model& file, const Subject& subject, const SimulatedFile& simulated,
                                              const FloatWeights& weights, const LayerMatches& matches) {
  std::vector<FoundDefect> found = find_other_values(file, simulated, weights);
  doubt_weights(found, file, subject, simulated, weights, matches);
  doubt_moved_biases(found, file, subject, simulated, weights, matches);
  excuse_masks(found, file, subject, simulated, weights);
  return found;
}

}  // namespace vernier
