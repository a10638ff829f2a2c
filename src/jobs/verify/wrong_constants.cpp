#include "jobs/verify/wrong_constants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analysis/beside_known.h"
#include "analysis/figures.h"
#include "analysis/isolated.h"
#include "analysis/output_store.h"
#include "analysis/some_samples.h"
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

/// The constant of the simulation that each dequantizer makes, by the node's name.
std::map<std::string, std::string> constants_of_dequantizers(const Model& file, const FloatWeights& weights) {
  std::map<std::string, std::string> by_tensor, found;
  for (const auto& [constant, weight] : weights.found) by_tensor[read_name(constant)] = constant;
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (!is_quantization(node, "DequantizeLinear")) continue;
      if (const auto made = by_tensor.find(node.output(0)); made != by_tensor.end()) found[node.name()] = made->second;
    }
  });
  return found;
}

/// Drops biases that are `moved` unless a measurement shows that they are wrong, which their texts then say.
void doubt_moved_biases(std::vector<FoundDefect>& defects, const Model& file, const Subject& subject,
                        const SimulatedFile& simulated, const FloatWeights& weights, const LayerMatches& matches) {
  constexpr std::size_t kMostBiases = 16, kFewSamples = 8;
  constexpr double kHarmlessDb = 25, kRestOfError = 0.5;
  if (std::ranges::none_of(defects, &FoundDefect::moved)) return;
  const std::map<std::string, std::string> constants = constants_of_dequantizers(file, weights);
  const FewSamples few(subject, kFewSamples);
  Subject own = subject;
  own.samples = &few;
  own.ranks = nullptr;
  Model all = simulated.model;
  for (const FoundDefect& defect : defects) {
    if (defect.moved && constants.contains(defect.node)) put_float_bias(all, constants.at(defect.node), weights);
  }
  const auto given = isolated_errors(own, simulated.model, matches.pairs);
  const auto with = isolated_errors(own, all, matches.pairs);
  std::optional<OutputStore> known;
  const auto noise = [&](Model model) {
    if (!known) known.emplace(outputs_of_float(own));
    return noise_share(run_beside_known(own, std::move(model), *known, {}).outputs);
  };
  std::optional<double> given_noise;
  std::size_t asked = 0;
  std::erase_if(defects, [&](FoundDefect& defect) {
    if (!defect.moved) return false;
    const auto constant = constants.find(defect.node);
    const auto match = constant == constants.end() ? std::nullopt : weights.found.at(constant->second).match;
    if (!match || !given[*match] || !with[*match]) return true;
    const ErrorStats &is = *given[*match], &would_be = *with[*match];
    if (sqnr_db(is) >= kHarmlessDb || would_be.error_energy > kRestOfError * is.error_energy) return true;
    if (++asked > kMostBiases) return true;
    if (!given_noise) given_noise = noise(simulated.model);
    Model changed = simulated.model;
    put_float_bias(changed, constant->second, weights);
    if (!(noise(std::move(changed)) <= *given_noise)) return true;
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
