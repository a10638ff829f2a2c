#include "model/input_role.h"

#include <onnx/defs/schema.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "model/layers.h"
#include "model/operator_traits.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Parameter = onnx::OpSchema::FormalParameter;

const onnx::OpSchema* schema_of(const onnx::NodeProto& node, int opset) {
  if (of_onnx(node)) {
    return onnx::OpSchemaRegistry::Schema(node.op_type(), opset, "");
  }
  return onnx::OpSchemaRegistry::Schema(node.op_type(), node.domain());
}

/// The formal parameter of an actual one: the last may be variadic. Null when there are more than the schema has.
const Parameter* formal(const std::vector<Parameter>& list, int index) {
  if (list.empty() || index < 0) return nullptr;
  const auto at = static_cast<std::size_t>(index);
  if (at < list.size()) return &list[at];
  return list.back().GetOption() == onnx::OpSchema::Variadic ? &list.back() : nullptr;
}

bool admits(const Parameter& parameter, std::string_view type) {
  return std::any_of(parameter.GetTypes().begin(), parameter.GetTypes().end(),
                     [&](const auto& allowed) { return *allowed == type; });
}

/// Tensors, and sequences and optionals of them.
bool admits_float(const Parameter& parameter) {
  return std::any_of(parameter.GetTypes().begin(), parameter.GetTypes().end(),
                     [](const auto& allowed) { return allowed->find("tensor(float)") != std::string::npos; });
}

/// A sequence or an optional: it has a type variable of its own, and holds tensors that are data as they are.
bool holds_tensors(const Parameter& parameter) {
  return std::any_of(parameter.GetTypes().begin(), parameter.GetTypes().end(), [](const auto& allowed) {
    return allowed->starts_with("seq(") || allowed->starts_with("optional(");
  });
}

/// "T" and "T1" are type variables; "tensor(float)" is a type that nothing can change.
bool is_type_variable(const Parameter& parameter) { return parameter.GetTypeStr().find('(') == std::string::npos; }

struct Exception {
  std::string_view op_type;
  int index;
  InputRole role;
};

// What types alone do not tell. No value of what reads a shape (Trait::ReadsShape) is data either.
constexpr Exception kExceptions[] = {
    {"Range", 0, InputRole::Other},            // counts: half precision ends at 2048
    {"Range", 1, InputRole::Other},            //
    {"Range", 2, InputRole::Other},            //
    {"RoiAlign", 1, InputRole::Other},         // coordinates
    {"GridSample", 1, InputRole::Other},       //
    {"Resize", 1, InputRole::Other},           // region of interest
    {"Resize", 2, InputRole::Other},           // scales
    {"OneHot", 0, InputRole::Other},           // an index, whatever its type
    {"OneHot", 1, InputRole::Other},           //
    {"QuantizeLinear", 0, InputRole::Data},    //
    {"QuantizeLinear", 1, InputRole::Other},   //
    {"QuantizeLinear", 2, InputRole::Other},   //
    {"DequantizeLinear", 0, InputRole::Data},  // integers that are data
    {"DequantizeLinear", 1, InputRole::Other},
    {"DequantizeLinear", 2, InputRole::Other},
    {"Cast", 0, InputRole::Data},
    {"CastLike", 0, InputRole::Data},
    {"CastLike", 1, InputRole::Other},
    {"RMSNormalization", 0, InputRole::Data},  // the result has the type of the scale, which is the data's in practice
};

bool admits_dtype(const onnx::NodeProto& node, const Parameter* parameter, Dtype dtype) {
  if (parameter == nullptr || node.op_type().empty()) return false;
  std::string type = "tensor(";
  switch (dtype) {  // where ONNX's spelling is not ours
    case Dtype::Float32:
      type += "float";
      break;
    case Dtype::Float64:
      type += "double";
      break;
    default:
      type += dtype_name(dtype);
  }
  return admits(*parameter, type + ")");
}

}  // namespace

InputRole input_role(const onnx::NodeProto& node, int index, int opset) {
  if (has(node, Trait::ReadsShape)) return InputRole::Other;
  for (const Exception& exception : kExceptions) {
    if (exception.index == index && is_onnx(node, exception.op_type)) return exception.role;
  }
  const onnx::OpSchema* schema = schema_of(node, opset);
  if (schema == nullptr) return InputRole::Data;
  const Parameter* parameter = formal(schema->inputs(), index);
  if (parameter == nullptr || !is_type_variable(*parameter) || !admits_float(*parameter)) return InputRole::Other;
  bool float_output = false;
  for (const Parameter& output : schema->outputs()) {
    if (output.GetTypeStr() == parameter->GetTypeStr()) return InputRole::Data;
    if (admits_float(output) && (holds_tensors(output) || holds_tensors(*parameter))) return InputRole::Data;
    float_output = float_output || admits_float(output);
  }
  return float_output ? InputRole::Parameter : InputRole::Data;
}

bool may_output_float(const onnx::NodeProto& node, int index, int opset) {
  const onnx::OpSchema* schema = schema_of(node, opset);
  if (schema == nullptr) return true;
  const Parameter* parameter = formal(schema->outputs(), index);
  return parameter != nullptr && admits_float(*parameter);
}

bool carries_data(const onnx::NodeProto& node, int index, int opset) {
  return input_role(node, index, opset) == InputRole::Data;
}

bool is_known_operator(const std::string& op_type) {
  return onnx::OpSchemaRegistry::Schema(op_type) != nullptr ||
         std::ranges::any_of(operator_table(), [&](const OperatorRow& row) { return row.op_type == op_type; });
}

bool schema_admits_input(const onnx::NodeProto& node, int index, int opset, Dtype dtype) {
  const onnx::OpSchema* schema = schema_of(node, opset);
  return schema != nullptr && admits_dtype(node, formal(schema->inputs(), index), dtype);
}

bool schema_admits_output(const onnx::NodeProto& node, int index, int opset, Dtype dtype) {
  const onnx::OpSchema* schema = schema_of(node, opset);
  return schema != nullptr && admits_dtype(node, formal(schema->outputs(), index), dtype);
}

}  // namespace vernier
