// Cross-layer equalization: between two convolutions each channel is scaled so that both layers' weights of it have the
// same largest magnitude, which is the best that one scale for the whole weight can get.
//   s[j] = sqrt(r1[j] r2[j]) / r2[j],  r1: largest weight that makes channel j, r2: largest that reads it
// A chain of layers would take several passes; one pass, pair by pair, does most of it. Factors are powers of two, so
// that the float model keeps its bits.
// Source: M. Nagel et al., ICCV 2019 (see correct_biases.cpp).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "numerics/lattice.h"
#include "repairs/channel_scaling.h"

namespace vernier {

std::vector<Proposal> cross_layer_equalization(const Network& network, int) {
  std::vector<Proposal> proposals;
  std::set<std::string> taken;  // each layer in one pair: a pair is judged by its layers' errors
  for (const ScalablePair& pair : scalable_pairs(network)) {
    Proposal refused;
    refused.layers = pair.layers();
    if (network.plan.tensors.at(pair.first.weight).scale.size() > 1) continue;  // has a scale for each channel already
    if (std::ranges::any_of(refused.layers, [&](const std::string& layer) { return taken.contains(layer); })) continue;
    const auto is_lattice = [&](const WeightedLayer& layer) {
      return lattice_of(initializer(network.model, layer.weight)->floats()).has_value();
    };
    const bool on_grid = is_lattice(pair.first) && std::ranges::any_of(pair.seconds, is_lattice);
    if (on_grid) {
      refused.why_not = "its weights are multiples of one scale, and scaling would break that";
      proposals.push_back(std::move(refused));
      continue;
    }
    std::vector<float> factors(pair.made.size(), 1);
    for (std::size_t j = 0; j < factors.size(); ++j) {
      if (pair.made[j] <= 0 || pair.read[j] <= 0) continue;
      factors[j] = power_of_two(std::sqrt(static_cast<double>(pair.made[j]) * static_cast<double>(pair.read[j])) /
                                static_cast<double>(pair.read[j]));
    }
    if (std::ranges::all_of(factors, [](float factor) { return factor == 1; })) continue;
    taken.insert(refused.layers.begin(), refused.layers.end());
    proposals.push_back(scaling_proposal(pair, factors, "weights"));
  }
  return proposals;
}

}  // namespace vernier
