// Asymmetric quantization of weights: one symmetric step for all weights of a layer wastes the codes that their shorter
// side does not reach: weights from -1 to 2 use three quarters of them. With a zero point the codes lie where the
// weights do, and weights on a grid of up to 255 steps, as training for quantization to uint8 leaves them, lose
// nothing.
//   before: round(w / (absmax / 127))     after: round(w / s) + z in [-128, 127]
//   s: the grid's step, else (max - min) / 255
//   z: of those that reach both ends the one nearest to 0, since kernels may sum pairs of products in 16 bits
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "numerics/grid.h"
#include "numerics/lattice.h"
#include "numerics/metrics.h"
#include "plan/target.h"
#include "repairs/repair.h"
#include "repairs/weighted_layers.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr double kFiner = 0.9;  // of the symmetric step: the power of the error goes with its square

std::string refusal(const Plan& plan, const WeightedLayer& layer, const QuantParams& old) {
  if (!scaled_scheme(plan.target, layer.format, plan.rules.weights_only).weights_off_zero) {
    return fmt::format("target {} does not support zero points of weights", word_of(plan.target));
  }
  if (plan.rules.reduce_range) return "weights are limited to 7 bits around zero";
  if (old.format != Format::Int8 || old.scale.size() > 1)
    return "only INT8 weights with one scale can get a zero point";
  return {};
}

/// Why no zero point helps; else `grid` has one.
std::string move_zero(std::span<const float> weights, Format format, QuantParams& grid) {
  const CodeRange codes = code_range(format);
  const std::int32_t most = codes.highest - codes.lowest;
  RangeStats range;
  accumulate_range(weights, range);
  const double low = std::min(0.0, static_cast<double>(range.min));
  const double high = std::max(0.0, static_cast<double>(range.max));
  const double symmetric = std::max(-low, high) / codes.highest;
  double step = (high - low) / most;
  if (const auto lattice = lattice_of(weights); lattice && lattice->step > step * (1 - 0.5 / most)) {
    step = lattice->step;
    if (symmetric <= step) return "symmetric quantization already uses its whole range";
  } else if (step > kFiner * symmetric) {
    return "its weights reach about equally far on both sides of zero";
  }
  const auto below = static_cast<std::int32_t>(std::nearbyint(-low / step));
  const auto above = std::min(static_cast<std::int32_t>(std::nearbyint(high / step)), most - below);
  grid.format = format;
  grid.scale = {static_cast<float>(step)};
  grid.zero_point = {std::clamp(0, codes.lowest + below, codes.highest - above)};
  return {};
}

}  // namespace

std::vector<Proposal> move_weight_zeros(const Network& network, int) {
  std::vector<Proposal> proposals;
  std::set<std::string> done;
  for (const WeightedLayer& layer : weighted_layers(network)) {
    if (!done.insert(layer.weight).second) continue;
    const QuantParams& old = network.plan.tensors.at(layer.weight);
    Proposal proposal;
    proposal.layers = {layer.layer->name};
    proposal.why_not = refusal(network.plan, layer, old);
    QuantParams grid;
    if (proposal.why_not.empty()) {
      proposal.why_not = move_zero(initializer(network.model, layer.weight)->floats(), old.format, grid);
    }
    if (proposal.why_not.empty()) {
      proposal.what = fmt::format("scale {:.6g} and zero point {} instead of {:.6g} and 0", grid.scale.front(),
                                  grid.zero_point.front(), old.scale.front());
      proposal.grids.emplace(layer.weight, std::move(grid));
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
