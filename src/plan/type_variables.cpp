#include "plan/type_variables.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <utility>

#include "model/operator_traits.h"

namespace vernier {
namespace {

using Parameters = std::vector<onnx::OpSchema::FormalParameter>;

// ONNX spells element types in schemas; only those that lowering and simulation meet.
constexpr std::array<std::pair<std::string_view, Dtype>, 6> kSpelling{{
    {"tensor(float)", Dtype::Float32},
    {"tensor(float16)", Dtype::Float16},
    {"tensor(bfloat16)", Dtype::BFloat16},
    {"tensor(double)", Dtype::Float64},
    {"tensor(float8e4m3fn)", Dtype::Float8E4M3FN},
    {"tensor(float8e5m2)", Dtype::Float8E5M2},
}};

TypeSlot slot_of(const Parameters& formal, int index, const std::set<std::string>& variables) {
  if (formal.empty()) return {};
  // Behind the last formal parameter all arguments belong to it: it is variadic, or the checker refuses the node.
  const onnx::OpSchema::FormalParameter& parameter =
      formal[std::min(static_cast<std::size_t>(index), formal.size() - 1)];
  TypeSlot slot;
  if (variables.contains(parameter.GetTypeStr()) && parameter.GetIsHomogeneous()) {
    slot.variable = parameter.GetTypeStr();
  }
  for (const auto& [spelling, dtype] : kSpelling) {
    for (const std::string* type : parameter.GetTypes()) {
      if (*type == spelling) slot.admits.insert(dtype);
    }
  }
  return slot;
}

}  // namespace

NodeTypes node_types(const onnx::NodeProto& node, int opset) {
  NodeTypes types;
  if (!of_onnx(node)) return types;
  const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
  if (schema == nullptr) return types;
  types.has_schema = true;
  std::set<std::string> variables;
  for (const auto& constraint : schema->typeConstraintParams()) variables.insert(constraint.type_param_str);
  for (int i = 0; i < node.input_size(); ++i) types.inputs.push_back(slot_of(schema->inputs(), i, variables));
  for (int i = 0; i < node.output_size(); ++i) types.outputs.push_back(slot_of(schema->outputs(), i, variables));
  return types;
}

}  // namespace vernier
