// Rounding and clipping shift the mean of an output channel, and the layers behind see a shifted input in every pixel.
//   before: y = conv(Q(x), Q(w)) + b     after: the same with b - E[low - float], channel by channel
// The float model keeps its bias: only the low side reads the corrected one. Two rounds: what is left of the first.
// Source: M. Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", ICCV 2019.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/graph_edit.h"
#include "plan/integer_bias.h"
#include "repairs/repair.h"
#include "repairs/weighted_layers.h"

namespace vernier {

std::vector<Proposal> correct_biases(const Network& network, int) {
  std::vector<Proposal> proposals;
  const std::map<std::string, int> readers = count_readers(network.model);
  for (const WeightedLayer& layer : weighted_layers(network)) {
    const auto error = network.mean_error.find(layer.layer->name);
    if (error == network.mean_error.end()) continue;
    Proposal proposal;
    proposal.layers = {layer.layer->name};
    const std::optional<Tensor> bias =
        layer.bias.empty() ? std::nullopt : std::optional(*initializer(network.model, layer.bias));
    if (!bias) {
      proposal.why_not = fmt::format("the {} adds no constant bias", layer.node->op_type());
    } else if (readers.at(layer.bias) > 1) {
      proposal.why_not = "another layer reads the same bias";
    } else if (bias->count() != static_cast<std::int64_t>(error->second.size())) {
      proposal.why_not = "its bias has not one value for each output channel";
    } else {
      const auto repaired = network.plan.constants.find(layer.bias);
      std::vector<float> values = repaired != network.plan.constants.end()
                                      ? repaired->second.values
                                      : std::vector<float>(bias->floats().begin(), bias->floats().end());
      double largest = 0;
      const onnx::AttributeProto* beta = find_attribute(*layer.node, "beta");
      const double factor = beta == nullptr ? 1.0 : static_cast<double>(beta->f());
      if (factor == 0) continue;
      for (std::size_t c = 0; c < values.size(); ++c) {
        values[c] -= static_cast<float>(error->second[c] / factor);
        largest = std::max(largest, std::abs(error->second[c]));
      }
      proposal.what = fmt::format("takes a mean error of up to {:.3g} out of {} biases", largest, values.size());
      proposal.constants[layer.bias] = {layer.layer->name, bias->shape(), std::move(values)};
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
