#include "jobs/debug/exact_network.h"

#include <array>
#include <limits>
#include <vector>

#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "plan/pair_form.h"
#include "plan/round_node.h"

namespace vernier {
namespace {

constexpr float kMost = std::numeric_limits<float>::max();

/// Whether the ends of the grid, to two steps, are those of the activation that the file dropped.
bool ends_at(const QuantParams& params, const Bounds& bounds) {
  if (params.scale.size() != 1 || params.block > 0) return false;
  const auto [low, high] = ends_of(params);
  const float tolerance = 2 * params.scale.front();
  return low >= bounds.first - tolerance && (bounds.second == kMost || high <= bounds.second + tolerance);
}

onnx::NodeProto node_of(const char* op_type, const std::string& output, const std::vector<std::string>& inputs) {
  onnx::NodeProto node;
  node.set_op_type(op_type);
  node.set_name(output + "/" + op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

}  // namespace

FloatValues float_values(const Model& given, const SimulatedFile& file, const FloatWeights& weights,
                         const std::set<std::string>& equalized, std::map<std::string, Bounds> dropped) {
  FloatValues values;
  std::map<std::string, std::string> dequantizers;  // by what they make
  for_each_graph(given.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (is_quantization(node, "DequantizeLinear")) dequantizers[node.output(0)] = node.name();
    }
  });
  for (const auto& [constant, weight] : weights.found) {
    const auto stored = dequantizers.find(read_name(constant));
    if (stored == dequantizers.end() || equalized.contains(stored->second)) continue;
    values.constants.emplace(constant, weight.values);
  }
  for (const QuantizedTensor& pair : file.quantized) {
    const auto bounds = dropped.find(pair.output);
    if (bounds != dropped.end() && ends_at(pair.params, bounds->second)) values.activations.insert(*bounds);
  }
  return values;
}

Model with_float_constants(const SimulatedFile& file, const FloatValues& values,
                           const std::function<bool(std::size_t)>& stays) {
  Model model = file.model;
  std::set<std::string> stored;
  for (std::size_t i = 0; i < file.quantized.size(); ++i) {
    if (stays(i)) stored.insert(read_name(file.quantized[i].output));
  }
  for (const auto& [constant, value] : values.constants) {
    if (stored.contains(read_name(constant))) continue;
    if (onnx::GraphProto* owner = owner_of_initializer(model, constant))
      set_initializer(model, *owner, constant, value);
  }
  return model;
}

Model with_float_values(const SimulatedFile& file, const FloatValues& values,
                        const std::function<bool(std::size_t)>& stays) {
  Model model = with_float_constants(file, values, stays);
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  std::set<std::string> exact;  // what quantizers make that round nothing
  for (std::size_t i = 0; i < file.quantized.size(); ++i) {
    if (!file.quantized[i].quantizer.empty() && !stays(i)) exact.insert(file.quantized[i].output);
  }
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph.node(i);
    if (node.domain() != kDomain || node.op_type() != "Round" || !exact.contains(node.output(0))) continue;
    const std::string x = node.input(0), y = node.output(0);
    const auto bounds = values.activations.find(y);
    if (bounds == values.activations.end()) {
      *graph.mutable_node(i) = node_of("Identity", y, {x});
      continue;
    }
    set_initializer(model, graph, y + "/least", Tensor::of({}, std::array{bounds->second.first}));
    set_initializer(model, graph, y + "/most", Tensor::of({}, std::array{bounds->second.second}));
    replace_node(graph, i,
                 {node_of("Max", y + "/above", {x, y + "/least"}), node_of("Min", y, {y + "/above", y + "/most"})});
  }
  return model;
}

}  // namespace vernier
