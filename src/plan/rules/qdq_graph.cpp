#include "plan/rules/qdq_graph.h"

#include <algorithm>
#include <utility>

#include "model/operator_traits.h"
#include "plan/constant_codes.h"
#include "plan/simulate_typed.h"
#include "vernier/tensor.h"

namespace vernier {

QdqGraph::QdqGraph(const Model& file) : QdqGraph(file, file.proto.graph(), infer_types(file)) {}

std::vector<QdqGraph> QdqGraph::all_of(const Model& file) {
  std::vector<QdqGraph> graphs;
  graphs.emplace_back(file);
  for_each_graph(file.proto.graph(), [&](const onnx::GraphProto& graph) {
    const auto paired = [](const Node& node) { return quantizes(node) || dequantizes(node); };
    if (&graph == &file.proto.graph() || std::ranges::none_of(graph.node(), paired)) return;
    graphs.push_back(QdqGraph(file, graph, graphs.front().types_));
  });
  return graphs;
}

QdqGraph::QdqGraph(const Model& file, const onnx::GraphProto& graph, std::map<std::string, ValueType> types)
    : file_(file), graph_(graph), types_(std::move(types)) {
  for (const Node& node : graph.node()) {
    for (const std::string& output : node.output()) makers_[output] = &node;
    for (const std::string& input : tensors_read(node)) readers_[input].push_back(&node);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) outputs_.insert(output.name());
}

const onnx::NodeProto* QdqGraph::maker(const std::string& tensor) const {
  const auto found = makers_.find(tensor);
  return found == makers_.end() ? nullptr : found->second;
}

const std::vector<const onnx::NodeProto*>& QdqGraph::readers(const std::string& tensor) const {
  static const std::vector<const Node*> kNone;
  const auto found = readers_.find(tensor);
  return found == readers_.end() ? kNone : found->second;
}

Shape QdqGraph::shape(const std::string& tensor) const {
  const auto found = types_.find(tensor);
  return found == types_.end() || !found->second.rank_known ? Shape{} : found->second.shape;
}

Dtype QdqGraph::type(const std::string& tensor) const {
  const auto found = types_.find(tensor);
  return found == types_.end() ? Dtype::Undefined : found->second.dtype;
}

std::optional<std::size_t> QdqGraph::rank(const std::string& tensor) const {
  const auto found = types_.find(tensor);
  if (found == types_.end() || !found->second.rank_known) return std::nullopt;
  return found->second.shape.size();
}

bool QdqGraph::quantizes(const Node& node) { return is_quantization(node, "QuantizeLinear"); }
bool QdqGraph::dequantizes(const Node& node) { return is_quantization(node, "DequantizeLinear"); }

const onnx::NodeProto* QdqGraph::dequantizer(const std::string& tensor) const {
  const Node* made = maker(tensor);
  return made != nullptr && dequantizes(*made) ? made : nullptr;
}

const onnx::NodeProto* QdqGraph::only_quantizer(const std::string& tensor) const {
  const auto& list = readers(tensor);
  return list.size() == 1 && quantizes(*list.front()) && !is_output(tensor) ? list.front() : nullptr;
}

bool QdqGraph::of_constant(const Node& dequantizer) const {
  if (constant(dequantizer.input(0))) return true;
  const Node* made = maker(dequantizer.input(0));
  return made != nullptr && quantizes(*made) && constant(made->input(0));
}

std::optional<QuantParams> QdqGraph::params(const Node& node) const {
  const std::string& codes = dequantizes(node) ? node.input(0) : node.output(0);
  const auto type = types_.find(codes);
  ValueType known = type == types_.end() ? ValueType{} : type->second;
  known.dtype = codes_type(node);
  return quantization_of(file_, node, known);
}

Dtype QdqGraph::codes_type(const Node& node) const {
  if (node.input_size() > 2 && !node.input(2).empty()) {
    if (const auto zero = value(node.input(2))) return zero->dtype();
  }
  const auto type = types_.find(dequantizes(node) ? node.input(0) : node.output(0));
  if (type != types_.end() && type->second.dtype != Dtype::Undefined) return type->second.dtype;
  const auto stored = value(node.input(0));
  return dequantizes(node) && stored ? stored->dtype() : Dtype::UInt8;
}

QdqGraph::Inputs QdqGraph::inputs(const Node& node, int most) const {
  Inputs inputs;
  for (int i = 0; i < node.input_size() && i < most; ++i) {
    if (node.input(i).empty()) continue;
    ++inputs.all;
    if (dequantizer(node.input(i)) != nullptr) {
      ++inputs.dequantized;
    } else {
      inputs.plain.push_back(node.input(i));
    }
  }
  return inputs;
}

bool has_weight(const onnx::NodeProto& node) { return has(node, Trait::Weighted); }

}  // namespace vernier
