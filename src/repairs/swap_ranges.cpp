// Another range for a tensor: a few large values are clipped so that all others are resolved better, or a given range
// that clips many is widened. Which range is better is not the tensor's to say but the layers' behind it, so several
// are tried. Rounds: activations by squared error, activations without their largest 0.01 percent, weights by squared
// error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "numerics/distribution.h"
#include "numerics/range_methods.h"
#include "numerics/tensor_grid.h"
#include "repairs/repair.h"
#include "repairs/weighted_layers.h"
#include "vernier/calibration.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

double energy_of_error(const QuantParams& grid, const Shape& shape, std::span<const float> values) {
  std::vector<float> rounded(values.size());
  round_tensor(grid, shape, values, rounded);
  double energy = 0;
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    energy += std::pow(static_cast<double>(values[i]) - static_cast<double>(rounded[i]), 2);
  }
  return energy;
}

/// Energy of the error of these values on a grid of one scale.
double energy_of_error(const QuantParams& grid, const Distribution& values) {
  std::vector<float> middles, rounded(values.bins.size());
  for (const Bin& bin : values.bins) middles.push_back(bin.middle());
  round_to(grid, middles, rounded);
  double energy = 0;
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    const double error = static_cast<double>(middles[i]) - static_cast<double>(rounded[i]);
    energy += static_cast<double>(values.bins[i].count) * error * error;
  }
  return energy;
}

/// Ranges that differ by less are the same.
constexpr float kSameRange = 0.02F;
/// What the error of a wider one has to fall to: a given range may clip on purpose.
constexpr double kWorthWidening = 0.8;

/// A range that a file gave may be wrong whoever reads the tensor.
void add_readers_of_given(const Network& network, std::map<std::string, std::vector<std::string>>& readers) {
  std::set<std::string> weighted;
  for (const auto& [tensor, layers] : readers) weighted.insert(tensor);
  for (const PlannedLayer& layer : network.plan.layers) {
    const onnx::NodeProto* node = needs_scale(layer.format) ? network.node(layer.name) : nullptr;
    if (node == nullptr) continue;
    for (const std::string& input : node->input()) {
      if (network.given->contains(input) && !weighted.contains(input)) readers[input].push_back(layer.name);
    }
  }
}

std::vector<Proposal> activations(const Network& network, const CalibrationChoice& method) {
  std::map<std::string, std::vector<std::string>> readers;  // of each activation
  for (const WeightedLayer& layer : weighted_layers(network)) readers[layer.data].push_back(layer.layer->name);
  if (network.given != nullptr) add_readers_of_given(network, readers);
  std::vector<Proposal> proposals;
  for (const auto& [tensor, layers] : readers) {
    const auto grid = network.plan.tensors.find(tensor);
    const auto counted = network.histograms.find(tensor);
    if (grid == network.plan.tensors.end() || counted == network.histograms.end()) continue;
    if (grid->second.scale.size() != 1 || !has_levels_for(method, grid->second.format)) continue;
    Proposal proposal;
    proposal.layers = layers;
    ValueHistogram all = counted->second.at(0);
    all += counted->second.at(1);
    Distribution values = distribution_of(all);
    take_mask(values);
    const QuantParams chosen = activation_params(grid->second.format, range_by(method, values, grid->second.format));
    const float ratio = chosen.scale.front() / grid->second.scale.front();
    const bool wider = ratio > 1 + kSameRange;
    if (!wider && !(ratio < 1 - kSameRange)) continue;
    if (wider && energy_of_error(chosen, values) > kWorthWidening * energy_of_error(grid->second, values)) continue;
    proposal.what = fmt::format("'{}' by {}: scale {:.4g} instead of {:.4g}", tensor, method_name(method.method),
                                chosen.scale.front(), grid->second.scale.front());
    proposal.grids[tensor] = chosen;
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

std::vector<Proposal> weights(const Network& network) {
  std::vector<Proposal> proposals;
  for (const WeightedLayer& layer : weighted_layers(network)) {
    const QuantParams& old = network.plan.tensors.at(layer.weight);
    if (old.block > 0 || network.plan.rules.reduce_range) continue;  // narrower steps would need larger codes
    const Tensor weight = *initializer(network.model, layer.weight);
    QuantParams best = old;
    double least = energy_of_error(old, weight.shape(), weight.floats());
    const double before = least;
    for (int percent = 95; percent >= 50; percent -= 5) {
      QuantParams grid = old;
      for (float& scale : grid.scale) scale *= static_cast<float>(percent) / 100;
      const double energy = energy_of_error(grid, weight.shape(), weight.floats());
      if (energy < least) {
        least = energy;
        best = grid;
      }
    }
    if (least > 0.9 * before) continue;
    proposals.push_back({{layer.layer->name},
                         {{layer.weight, best}},
                         {},
                         {},
                         fmt::format("scales of the weight {:.2f} times as large", best.scale[0] / old.scale[0]),
                         {}});
  }
  return proposals;
}

}  // namespace

std::vector<Proposal> swap_ranges(const Network& network, int round) {
  if (round == 0) return activations(network, {CalibrationMethod::Mse, 0});
  if (round == 1) return activations(network, {CalibrationMethod::Percentile, 99.99});
  return weights(network);
}

}  // namespace vernier
