#include "engine/ort/layout_fault.h"

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

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
      if (node->op_type() == "Shape" || node->op_type() == "Size") continue;
      if (node->op_type() == "Cast" && attribute_int(*node, "to", 0) == onnx::TensorProto::FLOAT) return true;
      for (const std::string& output : node->output()) {
        if (seen.insert(output).second) open.push_back(output);
      }
    }
  }
  return false;
}

}  // namespace vernier
