#include "jobs/common/fixed_nodes.h"

#include <algorithm>
#include <map>

#include "jobs/common/static_types.h"
#include "model/graph_edit.h"
#include "model/input_role.h"
#include "model/operator_traits.h"

namespace vernier {
namespace {

bool is_static(const std::map<std::string, onnx::TypeProto>& types, const std::string& tensor) {
  const auto found = types.find(tensor);
  if (found == types.end() || !found->second.tensor_type().has_shape()) return false;
  return std::ranges::all_of(found->second.tensor_type().shape().dim(),
                             [](const auto& dimension) { return dimension.has_dim_value(); });
}

}  // namespace

std::set<std::string> nodes_of_fixed_inputs(const Model& model, const std::shared_ptr<const Runtime>& runtime) {
  const onnx::GraphProto& graph = model.proto.graph();
  const std::map<std::string, onnx::TypeProto> types = static_types(model, [&] { return runtime; });
  std::set<std::string> constants;
  for (const onnx::TensorProto& tensor : graph.initializer()) constants.insert(tensor.name());
  for (const onnx::ValueInfoProto& input : graph.input()) constants.erase(input.name());
  std::set<std::string> names;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!of_onnx(node) || has_body(node) || has(node, Trait::Random)) continue;
    const auto constant = [&](const std::string& input) { return input.empty() || constants.contains(input); };
    const bool of_shape = node.op_type() == "Shape" || node.op_type() == "Size";
    if (std::ranges::all_of(node.input(), constant) || (of_shape && is_static(types, node.input(0)))) {
      constants.insert(node.output().begin(), node.output().end());
    }
    bool fixed = true;
    for (int i = 0; i < node.input_size() && fixed; ++i) {
      if (constant(node.input(i))) continue;
      fixed = is_static(types, node.input(i)) && input_role(node, i, default_opset(model.proto)) == InputRole::Data;
    }
    if (fixed) names.insert(node.name());
  }
  return names;
}

}  // namespace vernier
