#include "jobs/verify/layer_formats.h"

#include <algorithm>
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
    const onnx::NodeProto* node = made_by(matches.pairs[i].low);
    // Names of nodes may be others after another export; a product may stand between Reshapes.
    const bool is_it = node != nullptr && node->op_type() == layer.op_type;
    if (!is_it && named != nodes.end() && stands_for(named->second, layer)) node = named->second;
    if (!stands_for(node, layer)) continue;
    if (const auto format = by_node.find(node->name()); format != by_node.end())
      formats.emplace(&layer, format->second);
  }
  return formats;
}

std::optional<double> stored_times(std::optional<Format> format, const ErrorStats& stats) {
  if (format != Format::Float16 && format != Format::BFloat16) return std::nullopt;
  return power_of_two_in(stats);
}

std::vector<LayerRow> rows_of_layers(const Subject& subject, const SimulatedFile& simulated,
                                     const LayerMatches& matches, const Lockstep& measured) {
  const std::map<const Layer*, Format> formats = formats_of(simulated, matches);
  std::map<const Layer*, ErrorStats> by_layer;
  for (std::size_t i = 0; i < measured.errors.size(); ++i) by_layer[matches.layers[i]] += measured.errors[i];
  std::vector<LayerRow> rows;
  for (const Layer& layer : subject.layers) {
    const auto stats = by_layer.find(&layer);
    if (stats == by_layer.end() || stats->second.count == 0) continue;
    LayerRow row;
    row.name = layer.name;
    row.op_type = layer.op_type;
    row.graph = layer.graph;
    if (const auto format = formats.find(&layer); format != formats.end()) row.format = format->second;
    row.stored_times = stored_times(row.format, stats->second);
    row.propagated_sqnr_db =
        sqnr_db(row.stored_times ? without_factor(stats->second, *row.stored_times) : stats->second);
    row.nan = stats->second.got_nan;
    row.overflowed = stats->second.got_inf;
    row.values = stats->second.count;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace vernier
