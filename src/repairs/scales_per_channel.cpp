// Per-channel quantization of weights: one scale for each output channel in the place of one for the whole weight: a
// channel of small weights no longer pays for the largest weight of another. Costs nothing on engines that take such
// scales, which is nearly all.
#include <algorithm>
#include <vector>

#include "model/output_channels.h"
#include "numerics/tensor_grid.h"
#include "repairs/repair.h"
#include "repairs/weighted_layers.h"
#include "vernier/tensor.h"

namespace vernier {

std::vector<Proposal> scales_per_channel(const Network& network, int) {
  std::vector<Proposal> proposals;
  for (const WeightedLayer& layer : weighted_layers(network)) {
    const QuantParams& old = network.plan.tensors.at(layer.weight);
    if (old.scale.size() > 1) continue;
    Proposal proposal;
    proposal.layers = {layer.layer->name};
    const Tensor weight = *initializer(network.model, layer.weight);
    const int axis = weight_axis(*layer.node, weight.shape());
    if (axis < 0) {
      proposal.why_not = "its weight has no dimension of output channels";
    } else {
      proposal.grids[layer.weight] = symmetric_params(old.format, absmax_along(weight, axis), axis);
      if (network.plan.rules.reduce_range) {
        for (float& scale : proposal.grids[layer.weight].scale) scale *= 127.0F / 63.0F;
      }
      proposal.what = "a scale for each output channel";
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
