// The grid of quantization-aware training: weights of a network that was trained for quantization, or converted from a
// quantized file, are whole multiples of a step. Quantized to the usual step, absmax / 127, which is slightly another
// one, they are rounded a second time; in channels of a few steps that is most of their value. The step they lie on
// loses nothing.
//   before: round(w / (absmax / 127))     after: round(w / s), where every w is k s; |k| > 127 is clipped
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "numerics/grid.h"
#include "numerics/lattice.h"
#include "repairs/repair.h"
#include "repairs/weighted_layers.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
std::vector<Proposal> recover_weight_grid(const Network& network, int) {
  std::vector<Proposal> proposals;
  std::set<std::string> done;
  for (const WeightedLayer& layer : weighted_layers(network)) {
    if (!done.insert(layer.weight).second) continue;
    Proposal proposal;
    proposal.layers = {layer.layer->name};
    const QuantParams& old = network.plan.tensors.at(layer.weight);
    const Tensor weight = *initializer(network.model, layer.weight);
    const std::optional<Lattice> lattice = lattice_of(weight.floats());
    if (old.block > 0 || old.format != Format::Int8) {
      proposal.why_not = "only INT8 weights with one scale, or one for each channel, are checked";
    } else if (network.plan.rules.reduce_range) {
      proposal.why_not = "weights are limited to 7 bits, but its own scale needs 8";
    } else if (!lattice) {
      proposal.why_not = "its weights are not multiples of one 8-bit scale";
    } else {
      QuantParams grid = old;
      const auto step = static_cast<float>(lattice->step);
      const CodeRange codes = code_range(grid.format);
      const std::vector<float> largest = absmax_along(weight, old.scale.size() > 1 ? old.axis : -1);
      std::size_t changed = 0;
      for (std::size_t c = 0; c < grid.scale.size(); ++c) {
        // A channel that reaches beyond the codes would be clipped: with a scale of its own it keeps the usual one.
        if (grid.scale.size() > 1 && largest[c] > (static_cast<float>(codes.highest) + 0.5F) * step) continue;
        grid.scale[c] = step;
        ++changed;
      }
      // A few weights beyond the codes may still cost less than rounding all others: the layer's output tells.
      if (changed == 0) {
        proposal.why_not = fmt::format("every channel has weights beyond {} times its scale", codes.highest);
      } else {
        const auto beyond = lattice->beyond(codes.highest, weight.floats());
        proposal.what = fmt::format(
            "its weights are multiples of {:.6g}: that scale {}{}", step,
            grid.scale.size() > 1 ? fmt::format("in {} of {} channels", changed, grid.scale.size())
                                  : fmt::format("instead of {:.6g}", old.scale.front()),
            beyond > 0 && grid.scale.size() == 1 ? fmt::format("; {} of {} values are clipped", beyond, weight.count())
                                                 : std::string());
        proposal.grids[layer.weight] = std::move(grid);
      }
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
