#include "jobs/verify/exact_network.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <vector>

#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "numerics/grid.h"
#include "plan/nbits_weight.h"
#include "plan/normalized_file.h"
#include "plan/pair_form.h"
#include "plan/round_node.h"
#include "vernier/format.h"

namespace vernier {
namespace {

constexpr float kLargestFloat = std::numeric_limits<float>::max();

/// Whether the ends of the grid, to two steps, are those of the activation that the file dropped.
bool ends_at(const QuantParams& params, const Bounds& bounds) {
  if (params.scale.size() != 1 || params.block > 0) return false;
  const auto [low, high] = ends_of(params);
  const float tolerance = 2 * params.scale.front();
  return low >= bounds.first - tolerance && (bounds.second == kLargestFloat || high <= bounds.second + tolerance);
}

/// Whether a quantizer cuts off what is negative, as a Relu in front of it does: an unsigned zero point of 0.
bool starts_at_zero(const Model& model, const onnx::NodeProto& quantizer) {
  const auto zero = quantizer.input_size() > 2 ? initializer(model, quantizer.input(2)) : std::nullopt;
  return zero && (zero->dtype() == Dtype::UInt8 || zero->dtype() == Dtype::UInt16) &&
         std::ranges::all_of(zero->bytes(), [](std::byte value) { return value == std::byte{0}; });
}

/// A Cast to float16 or bfloat16 and back, or a layer that computes in one of them.
bool rounds_to_half(const onnx::NodeProto& round) {
  const Format format = round_params(round).format;
  return format == Format::Float16 || format == Format::BFloat16;
}

/// Lets values through pairs that no Round stands for: 16 bits, or another scale on each side. Nodes between their
/// halves may move or select values.
void open_other_pairs(Model& model) {
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  std::map<std::string, std::vector<onnx::NodeProto*>> readers;
  std::set<std::string> returned;
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (const std::string& tensor : tensors_read(node)) readers[tensor].push_back(&node);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) returned.insert(output.name());
  std::set<std::string> codes;  // that are values now
  for (onnx::NodeProto& quantizer : *graph.mutable_node()) {
    if (!is_quantization(quantizer, "QuantizeLinear")) continue;
    std::vector<onnx::NodeProto*> halves = {&quantizer};
    std::vector<std::string> between = {quantizer.output(0)};
    bool closed = true;
    for (std::size_t next = 0; next < between.size() && closed; ++next) {
      closed = !returned.contains(between[next]) && readers.contains(between[next]);
      if (!closed) break;
      for (onnx::NodeProto* reader : readers.at(between[next])) {
        const bool first = reader->input_size() > 0 && reader->input(0) == between[next];
        if (first && is_quantization(*reader, "DequantizeLinear")) {
          halves.push_back(reader);
        } else if (first && reader->output_size() == 1 && has(*reader, Trait::Moves | Trait::Selects)) {
          between.push_back(reader->output(0));
        } else {
          closed = false;
        }
      }
    }
    if (!closed || halves.size() == 1) continue;
    codes.insert(between.begin(), between.end());
    for (onnx::NodeProto* half : halves) {
      const std::string x = half->input(0), y = half->output(0), name = half->name();
      *half = node_of(half == &quantizer && starts_at_zero(model, quantizer) ? "Relu" : "Identity", {x}, y);
      half->set_name(name);
    }
  }
  const auto stale = [&](const onnx::ValueInfoProto& value) { return codes.contains(value.name()); };
  auto* values = graph.mutable_value_info();
  values->erase(std::remove_if(values->begin(), values->end(), stale), values->end());
}

}  // namespace

FloatValues float_values(const Model& given, const SimulatedFile& file, const FloatWeights& weights,
                         const std::set<std::string>& equalized, std::map<std::string, Bounds> dropped) {
  FloatValues values;
  std::map<std::string, std::string> dequantizers;  // by what they make
  for_each_graph(given.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (is_quantization(node, "DequantizeLinear")) dequantizers[node.output(0)] = node.name();
      if (node.op_type() == "MatMulNBits" && node.input_size() > 1) dequantizers[node.input(1)] = node.name();
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
    put_float(model, constant, value);
  }
  return model;
}

Model without_roundings_of_pairs(const SimulatedFile& file, Model model, const FloatValues& values,
                                 const std::function<bool(std::size_t)>& stays) {
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
      *graph.mutable_node(i) = node_of("Identity", {x}, y);
      continue;
    }
    set_initializer(model, graph, y + "/least", Tensor::of({}, std::array{bounds->second.first}));
    set_initializer(model, graph, y + "/most", Tensor::of({}, std::array{bounds->second.second}));
    replace_node(graph, i,
                 {node_of("Max", {x, y + "/least"}, y + "/above"), node_of("Min", {y + "/above", y + "/most"}, y)});
  }
  return model;
}

Model with_float_values(const SimulatedFile& file, const FloatValues& values,
                        const std::function<bool(std::size_t)>& stays) {
  Model model = without_roundings_of_pairs(file, with_float_constants(file, values, stays), values, stays);
  for (onnx::NodeProto& node : *model.proto.mutable_graph()->mutable_node()) {
    const bool rounds = node.domain() == kDomain && node.op_type() == "Round";
    if (rounds && rounds_to_half(node)) node = node_of("Identity", {node.input(0)}, node.output(0));
  }
  open_other_pairs(model);
  return model;
}

}  // namespace vernier
