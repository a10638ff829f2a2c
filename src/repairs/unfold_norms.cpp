// A BatchNormalization that was folded into a weight multiplied each output channel by a factor of its own. Where
// channels share a scale (the groups of a ConvTranspose, --per-tensor), the largest channel then sets the step for all.
// Undone: channel c of weight and bias is multiplied by f[c], and a Mul behind the layer divides by it again.
//   f[c] = 2^round(log2(largest of the scale / largest of channel c)), so that every value and sum stays exact
// The Mul is one more pass over the result, unless the engine fuses it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "model/output_channels.h"
#include "numerics/tensor_grid.h"
#include "repairs/repair.h"
#include "repairs/weighted_layers.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr float kFewestBits = 4;  // a factor: two bits for the smallest channel are worth a Mul

struct Unfolding {
  std::string layer, weight, bias;
  OutputChannels channels;
  std::size_t dims_behind = 0;  // of the layer's result, behind its channels
  std::vector<float> factors;
};

/// Powers of two that make the channels that share a scale alike.
void choose_factors(const Tensor& weight, const QuantParams& grid, Unfolding& found) {
  const AxisGeometry geometry = geometry_along(weight.shape(), grid.axis);
  const auto scale_of = [&](std::size_t i) {
    return grid.scale.size() == 1
               ? 0
               : i / static_cast<std::size_t>(geometry.inner) % static_cast<std::size_t>(geometry.channels);
  };
  std::vector<float> reach(found.channels.count), largest(grid.scale.size());
  std::vector<std::size_t> scale(found.channels.count);
  for (std::size_t i = 0; i < weight.floats().size(); ++i) {
    const std::size_t c = found.channels.of(i);
    scale[c] = scale_of(i);
    reach[c] = std::max(reach[c], std::abs(weight.floats()[i]));
    largest[scale[c]] = std::max(largest[scale[c]], reach[c]);
  }
  found.factors.assign(found.channels.count, 1);
  for (std::size_t c = 0; c < reach.size(); ++c) {
    if (!(reach[c] > 0) || !std::isfinite(reach[c])) continue;
    found.factors[c] = std::exp2(std::round(std::log2(largest[scale[c]] / reach[c])));
  }
}

void unfold(Model& model, const Unfolding& found) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  NamePool names(model);
  const Tensor weight = *initializer(model, found.weight);
  std::vector<float> values(weight.floats().begin(), weight.floats().end());
  for (std::size_t i = 0; i < values.size(); ++i) values[i] *= found.factors[found.channels.of(i)];
  set_initializer(model, graph, found.weight, Tensor::of(weight.shape(), values));
  if (!found.bias.empty()) {
    const Tensor bias = *initializer(model, found.bias);
    std::vector<float> offsets(bias.floats().begin(), bias.floats().end());
    for (std::size_t c = 0; c < offsets.size(); ++c) offsets[c] *= found.factors[c];
    set_initializer(model, graph, found.bias, Tensor::of(bias.shape(), offsets));
  }
  std::vector<float> inverse;
  for (const float factor : found.factors) inverse.push_back(1 / factor);
  Shape shape(1 + found.dims_behind, 1);
  shape.front() = static_cast<std::int64_t>(inverse.size());
  const std::string factors = names.unique(found.layer + ".factors");
  set_initializer(model, graph, factors, Tensor::of(shape, inverse));
  for (int i = 0; i < graph.node_size(); ++i) {
    if (graph.node(i).name() != found.layer) continue;
    onnx::NodeProto layer = graph.node(i);
    onnx::NodeProto mul;
    mul.set_op_type("Mul");
    mul.set_name(names.unique(found.layer + ".unfolded"));
    mul.add_output(layer.output(0));
    layer.set_output(0, names.unique(layer.output(0) + ".before_factors"));
    mul.add_input(layer.output(0));
    mul.add_input(factors);
    replace_node(graph, i, {layer, mul});
    return;
  }
}

}  // namespace

std::vector<Proposal> unfold_norms(const Network& network, int) {
  std::vector<Proposal> proposals;
  const std::map<std::string, int> readers = count_readers(network.model);
  for (const WeightedLayer& layer : weighted_layers(network)) {
    const QuantParams& grid = network.plan.tensors.at(layer.weight);
    const std::optional<Tensor> weight = initializer(network.model, layer.weight);
    if (!weight || weight->dtype() != Dtype::Float32 || grid.block > 0) continue;
    const std::optional<OutputChannels> channels = output_channels(*layer.node, weight->shape());
    if (!channels || channels->count <= grid.scale.size()) continue;
    Unfolding found{layer.layer->name, layer.weight, layer.bias, *channels, 0, {}};
    const bool convolution = layer.node->op_type() == "Conv" || layer.node->op_type() == "ConvTranspose";
    if (convolution) found.dims_behind = weight->shape().size() - 2;
    choose_factors(*weight, grid, found);
    const auto [least, most] = std::ranges::minmax(found.factors);
    if (most < kFewestBits) continue;
    Proposal proposal;
    proposal.layers = {layer.layer->name};
    const bool has_bias = layer.node->input_size() > 2 && !layer.node->input(2).empty();
    const std::optional<Tensor> bias = layer.bias.empty() ? std::nullopt : initializer(network.model, layer.bias);
    if (has_bias &&
        (!bias || bias->dtype() != Dtype::Float32 || bias->count() != static_cast<std::int64_t>(channels->count))) {
      proposal.why_not = "its bias does not have one constant for each output channel";
    } else if (readers.at(layer.weight) > 1 || (!layer.bias.empty() && readers.at(layer.bias) > 1)) {
      proposal.why_not = "another layer reads its weight or its bias";
    } else {
      proposal.what = fmt::format("channels of its weight times {:g} to {:g}, undone after it", least, most);
      proposal.by_output = true;
      proposal.rewrite = [found](Model& model) { unfold(model, found); };
    }
    proposals.push_back(std::move(proposal));
  }
  return proposals;
}

}  // namespace vernier
