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

}  // namespace

std::vector<FoundDefect> find_wrong_constants(const Model& file, const Subject& subject, const SimulatedFile& simulated,
                                              const FloatWeights& weights, const LayerMatches& matches) {
  std::vector<FoundDefect> found = find_other_values(file, simulated, weights);
  doubt_scaled_weights(found, file, subject, simulated, weights);
  doubt_moved_biases(found, file, subject, simulated, weights, matches);
  return found;
}

}  // namespace vernier
