#include "jobs/verify/layer_formats.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <set>
#include <string>

#include "analysis/simulated_graph.h"
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

std::vector<std::optional<double>> stored_times(const SimulatedFile& simulated, const LayerMatches& matches,
                                                const std::map<const Layer*, Format>& formats,
                                                const std::vector<ErrorStats>& errors) {
  std::vector<std::optional<double>> factors(errors.size());
  std::map<std::string, std::size_t> matched;  // by the tensor of the file
  for (std::size_t i = 0; i < errors.size(); ++i) {
    matched.emplace(matches.pairs[i].low, i);
    const auto format = formats.find(matches.layers[i]);
    const bool half =
        format != formats.end() && (format->second == Format::Float16 || format->second == Format::BFloat16);
    if (half) factors[i] = power_of_two_in(errors[i]);
  }
  if (std::ranges::none_of(factors, [](const auto& factor) { return factor.has_value(); })) return factors;
  const onnx::GraphProto& graph = simulated.model.proto.graph();
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& input : node.input()) readers[input].push_back(&node);
  }
  std::set<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs.insert(output.name());
  // The first matched tensors behind that do not have a factor themselves.
  const auto is_undone = [&](std::size_t first) {
    constexpr double kLeastDb = 15, kMostLostDb = 20;
    const double without = sqnr_db(without_factor(errors[first], *factors[first]));
    std::vector<std::string> open = {matches.pairs[first].low};
    std::set<std::string> seen(open.begin(), open.end());
    while (!open.empty()) {
      const std::string tensor = open.back();
      open.pop_back();
      const auto found = matched.find(tensor);
      if (found != matched.end() && !factors[found->second]) {
        if (sqnr_db(errors[found->second]) >= std::max(kLeastDb, without - kMostLostDb)) return true;
        continue;
      }
      for (const onnx::NodeProto* reader : readers[tensor]) {
        std::ranges::copy_if(reader->output(), std::back_inserter(open),
                             [&](const std::string& output) { return seen.insert(output).second; });
      }
    }
    return false;
  };
  // What rounds, casts or copies a tensor alone makes it an output.
  const auto is_output = [&](std::string tensor) {
    while (!outputs.contains(tensor)) {
      const auto found = readers.find(tensor);
      if (found == readers.end() || found->second.size() != 1 || !is_transparent(*found->second.front())) return false;
      tensor = found->second.front()->output(0);
    }
    return true;
  };
  std::vector<std::optional<double>> undone = factors;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    if (factors[i] && (is_output(matches.pairs[i].low) || !is_undone(i))) undone[i].reset();
  }
  return undone;
}

std::vector<LayerRow> rows_of_layers(const Subject& subject, const SimulatedFile& simulated,
                                     const LayerMatches& matches, const Lockstep& measured) {
  const std::map<const Layer*, Format> formats = formats_of(simulated, matches);
  const auto factors = stored_times(simulated, matches, formats, measured.errors);
  std::map<const Layer*, ErrorStats> by_layer;
  std::map<const Layer*, double> stored;
  for (std::size_t i = 0; i < measured.errors.size(); ++i) {
    by_layer[matches.layers[i]] += measured.errors[i];
    if (factors[i]) stored.emplace(matches.layers[i], *factors[i]);
  }
  std::vector<LayerRow> rows;
  for (const Layer& layer : subject.layers) {
    const auto stats = by_layer.find(&layer);
    if (stats == by_layer.end() || stats->second.count == 0) continue;
    LayerRow row;
    row.name = layer.name;
    row.op_type = layer.op_type;
    row.graph = layer.graph;
    if (const auto format = formats.find(&layer); format != formats.end()) row.format = format->second;
    if (const auto factor = stored.find(&layer); factor != stored.end()) row.stored_times = factor->second;
    row.sqnr_db = sqnr_db(row.stored_times ? without_factor(stats->second, *row.stored_times) : stats->second);
    row.nan = stats->second.got_nan;
    row.overflowed = stats->second.got_inf;
    row.values = stats->second.count;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace vernier
