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

/// A convolution, or its result scaled or shifted by a constant.
bool is_convolved(const std::string& tensor, const std::map<std::string, const onnx::NodeProto*>& makers) {
  const auto found = makers.find(tensor);
  if (found == makers.end()) return false;
  const onnx::NodeProto& node = *found->second;
  if (node.op_type() == "Conv") return true;
  if (node.op_type() == "BatchNormalization") return is_convolved(node.input(0), makers);
  if (node.op_type() != "Mul" && node.op_type() != "Add") return false;
  for (const int data : {0, 1}) {
    if (!makers.contains(node.input(1 - data)) && is_convolved(node.input(data), makers)) return true;
  }
  return false;
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

bool adds_convolved_output(const onnx::GraphProto& graph) {
  std::map<std::string, const onnx::NodeProto*> makers;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == "Constant") continue;
    for (const std::string& output : node.output()) makers[output] = &node;
  }
  std::set<std::string> outputs;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs.insert(output.name());
  return std::ranges::any_of(graph.node(), [&](const onnx::NodeProto& node) {
    return node.op_type() == "Add" && (outputs.contains(node.input(0)) || outputs.contains(node.input(1))) &&
           is_convolved(node.input(0), makers) && is_convolved(node.input(1), makers);
  });
}

std::string faulty_optimizers(const onnx::GraphProto& graph) {
  bool layout = false;
  bool output = false;
  for_each_graph(graph, [&](const onnx::GraphProto& one) {
    layout = layout || casts_transposed(one);
    output = output || adds_convolved_output(one);
  });
  std::string names = layout ? "NchwcTransformer" : "";
  if (output) names += names.empty() ? "ConvAddActivationFusion" : ";ConvAddActivationFusion";
  return names;
}

}  // namespace vernier
