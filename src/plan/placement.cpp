#include "plan/placement.h"

#include <algorithm>
#include <optional>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/operator_traits.h"
#include "plan/skip_branch.h"
#include "plan/typed_weights.h"
#include "vernier/format.h"

namespace vernier {

bool picks_nearest(const onnx::NodeProto& node) {
  const onnx::AttributeProto* mode = find_attribute(node, "mode");
  return is_onnx(node, "Resize") && (mode == nullptr || mode->s() == "nearest");
}

Placement::Placement(const Model& model, const onnx::GraphProto& graph,
                     const std::map<std::string, const Layer*>& layers, const Plan& plan, const IsLow& is_low)
    : model_(model),
      graph_(graph),
      layers_(layers),
      plan_(plan),
      scheme_(scaled_scheme(plan.target, under_target(Format::Int8, plan.target))) {
  if (!scheme_.integer_kernels) return;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& input : node.input()) readers_[input].push_back(&node);
    for_each_body(node, [&](const onnx::GraphProto& body) {
      for (const std::string& name : captured_names(body)) readers_[name].push_back(nullptr);
    });
  }
  for (const onnx::ValueInfoProto& output : graph.output()) readers_[output.name()].push_back(nullptr);
  mark_needed(is_low);
  place(is_low);
}

bool Placement::read_once(const std::string& tensor) const {
  const auto found = readers_.find(tensor);
  return found != readers_.end() && found->second.size() == 1 && found->second.front() != nullptr;
}

bool Placement::bounds_are_constant(const onnx::NodeProto& clip) const {
  for (int i = 1; i < clip.input_size(); ++i) {
    if (!clip.input(i).empty() && !is_initializer(model_, clip.input(i))) return false;
  }
  return true;
}

const onnx::NodeProto* Placement::activation_of(const onnx::NodeProto& node) const {
  if (node.output_size() == 0 || !read_once(node.output(0))) return nullptr;
  const onnx::NodeProto* reader = readers_.at(node.output(0)).front();
  if (!has(*reader, Trait::Clips) || !bounds_are_constant(*reader) || !layers_.contains(reader->name())) return nullptr;
  const Format own = plan_.format_of(reader->name());
  return own == Format::Float32 || own == plan_.high ? reader : nullptr;
}

bool Placement::would_requantize(const onnx::NodeProto& node) const {
  if (std::ranges::find(scheme_.requantized, node.op_type()) == scheme_.requantized.end()) return false;
  if (node.input_size() < 2 || !is_initializer(model_, node.input(1)) || !from_codes_.contains(node.input(0))) {
    return false;
  }
  const onnx::NodeProto* activation = activation_of(node);
  return needed_.contains(node.output(0)) || (activation != nullptr && needed_.contains(activation->output(0)));
}

bool Placement::is_carrier(const onnx::NodeProto& node) const {
  const auto found = layers_.find(node.name());
  if (found == layers_.end()) return false;
  const Layer& layer = *found->second;
  const bool moves = layer.follows || picks_nearest(node);
  // A constant among the values (an operand of Concat, the value of a Pad) is on no grid.
  return moves && layer.weights.empty() && !layer.inputs.empty();
}

void Placement::mark_needed(const IsLow& is_low) {
  for (int n = graph_.node_size() - 1; n >= 0; --n) {
    const onnx::NodeProto& node = graph_.node(n);
    const auto found = layers_.find(node.name());
    if (found == layers_.end()) continue;
    const Layer& layer = *found->second;
    if (is_low(node)) {
      for (const int index : quantized_inputs(layer, node)) needed_.insert(node.input(index));
    } else if (is_carrier(node) && std::ranges::any_of(layer.outputs, [&](const std::string& output) {
                 return needed_.contains(output);
               })) {
      needed_.insert(layer.inputs.begin(), layer.inputs.end());
    }
  }
}

void Placement::place(const IsLow& is_low) {
  for (const onnx::NodeProto& node : graph_.node()) {
    if (is_low(node)) {
      const onnx::NodeProto* activation = activation_of(node);
      const std::string& result = activation == nullptr ? node.output(0) : activation->output(0);
      if (scheme_.find(node.op_type())->result == ResultGrid::Either && !needed_.contains(result)) continue;
      quantized_.insert(result);
      from_codes_.insert(result);
      if (activation != nullptr) passing_.insert(activation->name());
      continue;
    }
    if (!is_carrier(node)) continue;
    const Layer& layer = *layers_.at(node.name());
    const auto all_in = [&](const std::set<std::string>& tensors) {
      return std::ranges::all_of(layer.inputs, [&](const std::string& input) { return tensors.contains(input); });
    };
    if (all_in(from_codes_)) from_codes_.insert(layer.outputs.begin(), layer.outputs.end());
    const bool read =
        std::ranges::any_of(layer.outputs, [&](const std::string& output) { return needed_.contains(output); });
    if (!all_in(quantized_) || !read) continue;
    quantized_.insert(layer.outputs.begin(), layer.outputs.end());
    passing_.insert(node.name());
    carriers_.push_back(&node);
  }
}

Placement::IsLow runs_on_codes(const std::map<std::string, const Layer*>& layers, const Plan& plan) {
  std::set<std::string> low;
  for (const PlannedLayer& layer : plan.layers) {
    if (!needs_scale(layer.format) || !layers.contains(layer.name)) continue;
    const ScaledScheme& scheme = scaled_scheme(plan.target, layer.format);
    if (scheme.integer_kernels && scheme.find(layers.at(layer.name)->op_type) != nullptr) low.insert(layer.name);
  }
  return [low = std::move(low)](const onnx::NodeProto& node) { return low.contains(node.name()); };
}

std::vector<int> quantized_inputs(const Model& model, const Layer& layer, const onnx::NodeProto& node,
                                  const Plan& plan) {
  if (node.op_type() != "Add" || !is_residual(node, plan.format_of(node.name()), plan.target)) {
    return quantized_inputs(layer, node);
  }
  const std::optional<int> skip = skip_branch(model, node);
  return skip ? std::vector<int>{*skip} : quantized_inputs(layer, node);
}

std::vector<int> quantized_inputs(const Layer& layer, const onnx::NodeProto& node) {
  std::vector<int> indices;
  const int last = layer.weighted ? std::min(2, node.input_size()) : node.input_size();
  for (int i = 0; i < last; ++i) {
    if (contains(layer.inputs, node.input(i)) || contains(layer.weights, node.input(i))) indices.push_back(i);
  }
  return indices;
}

}  // namespace vernier
