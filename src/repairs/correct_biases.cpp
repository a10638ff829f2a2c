// Bias correction: rounding and clipping shift the mean of an output channel, and the layers behind see a shifted input
// in every pixel.
//   before: y = conv(Q(x), Q(w)) + b     after: the same with b - E[low - float], channel by channel
// The float model keeps its bias: only the low side reads the corrected one. Means over few samples are drawn to zero
// by how uncertain they are. Once is enough: on exact inputs a bias moves its result by as much, and leaves the rest.
// Source: M. Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction", ICCV 2019; of the
// shrinkage: numerics/channel_means.h.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "plan/integer_bias.h"
#include "repairs/repair.h"
#include "repairs/weighted_layers.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// The constant that an Add in float behind the layer adds to its result and to nothing else. Empty: there is none.
std::string bias_behind(const Network& network, const GraphWalk& walk, const WeightedLayer& layer) {
  const std::string& result = layer.node->output(0);
  const auto readers = walk.readers(result);
  if (readers.size() != 1 || readers.front()->op_type() != "Add") return {};
  const onnx::NodeProto& add = *readers.front();
  if (network.plan.format_of(add.name()) != Format::Float32) return {};
  const std::string& other = add.input(add.input(0) == result ? 1 : 0);
  const std::optional<Tensor> constant = initializer(network.model, other);
  // Along the last dimension, as a MatMul has its channels.
  return constant && constant->shape().size() == 1 ? other : std::string();
}

}  // namespace

std::vector<Proposal> correct_biases(const Network& network, int) {
  std::vector<Proposal> proposals;
  const std::map<std::string, int> readers = count_readers(network.model);
  const GraphWalk walk(network.model);
  for (const WeightedLayer& layer : weighted_layers(network)) {
    const auto error = network.mean_error.find(layer.layer->name);
    if (error == network.mean_error.end()) continue;
    Proposal proposal;
    proposal.layers = {layer.layer->name};
    // The layer's own error ends before the Add: the output says whether it helps.
    proposal.by_output = layer.bias.empty() && layer.node->op_type() == "MatMul";
    const std::string name = proposal.by_output ? bias_behind(network, walk, layer) : layer.bias;
    const std::optional<Tensor> bias = name.empty() ? std::nullopt : initializer(network.model, name);
    if (!bias) {
      proposal.why_not = fmt::format("the {} does not add a constant bias{}", layer.node->op_type(),
                                     layer.node->op_type() == "MatMul" ? ", and no float Add follows it" : "");
    } else if (readers.at(name) > 1) {
      proposal.why_not = "another layer reads the same bias";
    } else if (bias->count() != static_cast<std::int64_t>(error->second.mean.size())) {
      proposal.why_not = "its bias does not have one value for each output channel";
    } else {
      const auto repaired = network.plan.constants.find(name);
      const std::span<const float> before =
          repaired != network.plan.constants.end() ? repaired->second.values.floats() : bias->floats();
      std::vector<float> values(before.begin(), before.end());
      const std::vector<double> sure = shrunk(error->second);
      double largest = 0;
      const onnx::AttributeProto* beta = find_attribute(*layer.node, "beta");
      const double factor = beta == nullptr ? 1.0 : static_cast<double>(beta->f());
      if (factor == 0) continue;
      for (std::size_t c = 0; c < values.size(); ++c) {
        values[c] -= static_cast<float>(sure[c] / factor);
        largest = std::max(largest, std::abs(sure[c]));
      }
      if (largest == 0) {
        proposal.why_not = "its mean errors are within noise";
      } else {
        proposal.what = fmt::format("removes a mean error of up to {:.3g} from {} biases", largest, values.size());
        proposal.constants[name] = {layer.layer->name, Tensor::of(bias->shape(), values)};
      }
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
