#include "jobs/verify/scaled_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "jobs/verify/output_noise.h"
#include "jobs/verify/stored_values.h"
#include "model/graph_edit.h"
#include "plan/normalized_file.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Lets `model` compute with these values of a stored constant. A MatMulNBits, whose codes are packed, becomes a
/// MatMul.
void put_float(Model& model, const std::string& constant, const Tensor& values) {
  onnx::GraphProto* owner = owner_of_initializer(model, constant);
  if (owner == nullptr) return;
  for (int i = 0; i < owner->node_size(); ++i) {
    const onnx::NodeProto& layer = owner->node(i);
    if (layer.op_type() != "MatMulNBits" || layer.input_size() < 2 || layer.input(1) != constant) continue;
    const std::string weight = constant + "/float", result = layer.output(0);
    const std::string bias = layer.input_size() > 5 ? layer.input(5) : std::string();
    std::vector<onnx::NodeProto> nodes(bias.empty() ? 1 : 2);
    nodes[0].set_op_type("MatMul");
    nodes[0].set_name(layer.name());
    nodes[0].add_input(layer.input(0));
    nodes[0].add_input(weight);
    nodes[0].add_output(bias.empty() ? result : result + "/product");
    if (!bias.empty()) {
      nodes[1].set_op_type("Add");
      nodes[1].set_name(layer.name() + "/bias");
      nodes[1].add_input(result + "/product");
      nodes[1].add_input(bias);
      nodes[1].add_output(result);
    }
    replace_node(*owner, i, std::move(nodes));
    set_initializer(model, *owner, weight, values);
    return;
  }
  set_initializer(model, *owner, constant, values);
}

}  // namespace

void doubt_scaled_weights(std::vector<FoundDefect>& defects, const Model& file, const Subject& subject,
                          const SimulatedFile& simulated, const FloatWeights& weights) {
  constexpr std::size_t kMostLayers = 16;
  const bool other_forms =
      std::ranges::any_of(weights.found, [](const auto& known) { return known.second.other_form; });
  if (defects.empty() || (!other_forms && std::ranges::none_of(defects, &FoundDefect::scaled))) return;
  std::map<std::string, std::string> constants = constants_of_dequantizers(file, weights);
  std::map<std::string, std::string> layers;  // that read them, by their dequantizer
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.op_type() == "MatMulNBits" && node.input_size() > 1 && weights.found.contains(node.input(1))) {
        constants[node.name()] = node.input(1);
        layers[node.name()] = node.name();
      }
      const bool dequantizes = is_quantization(node, "DequantizeLinear");
      if (dequantizes && constants.contains(node.name())) layers[node.name()] = readers_of(file, node.output(0));
    }
  });
  std::map<std::string, std::vector<FoundDefect*>> scaled;  // by layer: its weight and its bias have the same factors
  // Weights in another form may also be merged, permuted or rotated ones.
  const auto in_other_form = [&](const FoundDefect& defect) {
    const auto constant = constants.find(defect.node);
    return constant != constants.end() && weights.found.at(constant->second).other_form;
  };
  for (FoundDefect& defect : defects) {
    const bool doubted = defect.scaled || in_other_form(defect);
    if (doubted && layers.contains(defect.node)) scaled[layers.at(defect.node)].push_back(&defect);
  }
  if (scaled.size() > kMostLayers) {  // those in another form all at once
    std::vector<FoundDefect*> together;
    for (const auto& [layer, found] : scaled) {
      std::ranges::copy_if(found, std::back_inserter(together),
                           [&](const FoundDefect* one) { return in_other_form(*one); });
    }
    scaled.clear();
    if (!together.empty()) scaled.emplace("", std::move(together));
  }
  if (scaled.empty()) return;
  OutputNoise noise(subject, simulated.model);
  for (const auto& [layer, found] : scaled) {
    Model changed = simulated.model;
    for (const FoundDefect* defect : found) {
      const std::string& constant = constants.at(defect->node);
      put_float(changed, constant, weights.found.at(constant).values);
    }
    const bool undone = !(noise.left_in(std::move(changed)) <= 1);
    for (FoundDefect* defect : found) {
      if (!undone) defect->scaled = false;
      // The other form may hold a factor that a node of the float model multiplies with.
      defect->folded = undone && in_other_form(*defect);
    }
  }
}

std::set<std::string> excuse_scaled_weights(std::vector<FoundDefect>& defects, const RunFigures& figures,
                                            std::vector<Note>& notes) {
  constexpr double kAgrees = 15;  // dB
  std::set<std::string> excused;
  for (const FoundDefect& defect : defects) {
    if (defect.folded) excused.insert(defect.node);
  }
  std::erase_if(defects, &FoundDefect::folded);
  const auto scaled = std::ranges::count_if(defects, &FoundDefect::scaled);
  const bool agrees =
      std::ranges::all_of(figures.outputs, [](const OutputFigure& output) { return output.sqnr_db >= kAgrees; });
  if (scaled > 0 && !figures.outputs.empty() && agrees) {
    for (const FoundDefect& defect : defects) {
      if (defect.scaled) excused.insert(defect.node);
    }
    std::erase_if(defects, &FoundDefect::scaled);
    notes.push_back({"weights-equalized", {{"count", scaled}}});
  }
  std::erase_if(defects, &FoundDefect::of_weight_scale);  // their weights are what is wrong
  return excused;
}

}  // namespace vernier
