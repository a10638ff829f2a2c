#include "engines/onnxruntime/optimizer_faults.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/graph_edit.h"
#include "model/model.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

/// Results of convolutions, as they are or scaled or shifted by constants. `made`: what nodes compute. Nodes are
/// sorted.
std::set<std::string> convolved_tensors(const onnx::GraphProto& graph, const std::set<std::string>& made) {
  std::set<std::string> convolved;
  for (const onnx::NodeProto& node : graph.node()) {
    bool result = node.op_type() == "Conv";
    if (node.op_type() == "BatchNormalization") result = convolved.contains(node.input(0));
    if (node.op_type() == "Mul" || node.op_type() == "Add") {
      for (const int data : {0, 1}) {
        result = result || (!made.contains(node.input(1 - data)) && convolved.contains(node.input(data)));
      }
    }
    if (result) convolved.insert(node.output().begin(), node.output().end());
  }
  return convolved;
}

}  // namespace

bool casts_transposed(const onnx::GraphProto& graph) {
  std::map<std::string, std::vector<const onnx::NodeProto*>> readers;
  std::vector<std::string> open;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& input : node.input()) readers[input].push_back(&node);
    if (node.op_type() == "Transpose") open.insert(open.end(), node.output().begin(), node.output().end());
  }
  std::set<std::string> seen(open.begin(), open.end());
  while (!open.empty()) {
    const std::string tensor = open.back();
    open.pop_back();
    for (const onnx::NodeProto* node : readers[tensor]) {
      // No transposition passes a shape.
      if (has(*node, Trait::ReadsShape)) continue;
      if (node->op_type() == "Cast" && attribute_int(*node, "to", 0) == onnx::TensorProto::FLOAT) return true;
      for (const std::string& output : node->output()) {
        if (seen.insert(output).second) open.push_back(output);
      }
    }
  }
  return false;
}

bool holds_float16(const onnx::GraphProto& graph) {
  const auto is_half = [](const auto& type) { return type == onnx::TensorProto::FLOAT16; };
  const auto of_value = [&](const onnx::ValueInfoProto& value) {
    return is_half(value.type().tensor_type().elem_type());
  };
  const auto of_tensor = [&](const onnx::TensorProto& tensor) { return is_half(tensor.data_type()); };
  const auto of_node = [&](const onnx::NodeProto& node) {
    if (node.op_type() == "Cast" && is_half(attribute_int(node, "to", 0))) return true;
    return std::ranges::any_of(node.attribute(), [&](const auto& attribute) { return of_tensor(attribute.t()); });
  };
  return std::ranges::any_of(graph.input(), of_value) || std::ranges::any_of(graph.value_info(), of_value) ||
         std::ranges::any_of(graph.initializer(), of_tensor) || std::ranges::any_of(graph.node(), of_node);
}

bool adds_convolved_output(const onnx::GraphProto& graph) {
  std::set<std::string> made;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Constant") made.insert(node.output().begin(), node.output().end());
  }
  const std::set<std::string> convolved = convolved_tensors(graph, made);
  std::set<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs.insert(output.name());
  return std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
    return node.op_type() == "Add" && (outputs.contains(node.input(0)) || outputs.contains(node.input(1))) &&
           convolved.contains(node.input(0)) && convolved.contains(node.input(1));
  });
}

std::vector<std::string> faulty_optimizers(const onnx::GraphProto& graph) {
  bool layout = false;
  bool output = false;
  bool half = false;  // a body may read what another graph holds
  for_each_graph(graph, [&](const onnx::GraphProto& one) { half = half || holds_float16(one); });
  const auto transposes = [](const onnx::NodeProto& node) { return node.op_type() == "Transpose"; };
  for_each_graph(graph, [&](const onnx::GraphProto& one) {
    layout = layout || casts_transposed(one) || (half && std::ranges::any_of(one.node(), transposes));
    output = output || adds_convolved_output(one);
  });
  std::vector<std::string> names;
  if (layout) names.emplace_back("NchwcTransformer");
  if (output) names.emplace_back("ConvAddActivationFusion");
  return names;
}

}  // namespace vernier
