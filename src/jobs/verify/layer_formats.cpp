#include "jobs/verify/layer_formats.h"

#include <cstddef>
#include <string>

#include "model/graph_edit.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

/// The node stands for the layer: it is no rounding that has its name, or makes its tensor. Operators on codes are of
/// other types than the layer.
bool stands_for(const onnx::NodeProto* node, const Layer& layer) {
  if (node == nullptr || node->domain() == kDomain) return false;
  return node->op_type() == layer.op_type ||
         (node->op_type() != "Cast" && node->op_type() != "QuantizeLinear" && node->op_type() != "DequantizeLinear");
}

}  // namespace

std::map<const Layer*, Format> formats_of(const SimulatedFile& simulated, const LayerMatches& matches) {
  std::map<std::string, Format> by_node;
  for (const PlannedLayer& layer : simulated.layers) by_node[layer.name] = layer.format;
  const auto nodes = nodes_by_name(simulated.model.proto.graph());
  const Makers makers = makers_in(simulated.model);
  // Behind what a node computes stand roundings of ours.
  const auto made_by = [&](const std::string& tensor) {
    auto maker = makers.find(tensor);
    while (maker != makers.end() && maker->second->domain() == kDomain && maker->second->input_size() > 0)
      maker = makers.find(maker->second->input(0));
    return maker == makers.end() ? nullptr : maker->second;
  };
  std::map<const Layer*, Format> formats;
  for (std::size_t i = 0; i < matches.pairs.size(); ++i) {
    const Layer& layer = *matches.layers[i];
    const auto named = nodes.find(layer.name);
    const onnx::NodeProto* node = named == nodes.end() ? nullptr : named->second;
    if (!stands_for(node, layer)) node = made_by(matches.pairs[i].low);
    if (!stands_for(node, layer)) continue;
    if (const auto format = by_node.find(node->name()); format != by_node.end())
      formats.emplace(&layer, format->second);
  }
  return formats;
}

}  // namespace vernier
