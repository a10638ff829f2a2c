// Types and shapes of all tensors, as far as ONNX's own inference knows them, with what it leaves out.
#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "model/model.h"
#include "model/operator_traits.h"
#include "model/tensorrt_operators.h"
#include "model/type_protos.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Reshape to a computed shape of n values makes rank n, which ONNX's inference does not say. True when it told a new
/// one: each is told once, so that inferring again ends.
bool give_reshapes_a_rank(onnx::GraphProto& graph) {
  std::map<std::string, onnx::ValueInfoProto*> values;
  for (onnx::ValueInfoProto& value : *graph.mutable_value_info()) values[value.name()] = &value;
  bool told = false;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() != "Reshape" || node.input_size() < 2) continue;
    const auto shape = values.find(node.input(1));
    const auto output = values.find(node.output(0));
    if (shape == values.end() || output == values.end()) continue;
    const auto& length = shape->second->type().tensor_type().shape();
    auto& type = *output->second->mutable_type()->mutable_tensor_type();
    if (type.has_shape() || length.dim_size() != 1 || !length.dim(0).has_dim_value()) continue;
    // A file may declare any length; no tensor has more than a few dimensions.
    if (length.dim(0).dim_value() < 0 || length.dim(0).dim_value() > 16) continue;
    type.mutable_shape();
    for (std::int64_t i = 0; i < length.dim(0).dim_value(); ++i) type.mutable_shape()->add_dim();
    told = true;
  }
  return told;
}

/// ONNX's inference knows no operator of Microsoft's. Those that compute on codes give codes, of the type of their
/// zero points. True when it told a new type, as above.
bool give_codes_a_type(onnx::GraphProto& graph) {
  std::map<std::string, int> types;
  std::vector<const onnx::NodeProto*> unknown;
  for (const onnx::NodeProto& node : graph.node()) {
    const bool on_codes = has(node, Trait::ComputesOnCodes) && !of_onnx(node) && node.op_type().starts_with("QLinear");
    if (on_codes && node.output_size() == 1) unknown.push_back(&node);
  }
  if (unknown.empty()) return false;
  for (const onnx::TensorProto& tensor : graph.initializer()) types[tensor.name()] = tensor.data_type();
  for (const auto* values : {&graph.input(), &graph.output(), &std::as_const(graph).value_info()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (value.type().tensor_type().elem_type() != 0) types[value.name()] = value.type().tensor_type().elem_type();
    }
  }
  bool told = false;
  for (const onnx::NodeProto* node : unknown) {
    if (types.contains(node->output(0))) continue;
    for (const std::string& input : node->input()) {
      const auto type = types.find(input);
      if (type == types.end() ||
          (type->second != onnx::TensorProto::UINT8 && type->second != onnx::TensorProto::INT8)) {
        continue;
      }
      onnx::ValueInfoProto& output = *graph.add_value_info();
      output.set_name(node->output(0));
      output.mutable_type()->mutable_tensor_type()->set_elem_type(type->second);
      types[node->output(0)] = type->second;
      told = true;
      break;
    }
  }
  return told;
}

/// ONNX's inference says nothing of some operators that are functions. Their schemas tell which outputs have the type
/// of an input. True when it told a new type, as above.
bool give_types_of_schemas(onnx::GraphProto& graph, int opset) {
  std::map<std::string, const onnx::TypeProto*> types;
  for (const auto* values : {&graph.input(), &graph.output(), &std::as_const(graph).value_info()}) {
    for (const onnx::ValueInfoProto& value : *values) {
      if (value.type().tensor_type().elem_type() != 0) types[value.name()] = &value.type();
    }
  }
  std::vector<onnx::ValueInfoProto> told;
  for (const onnx::NodeProto& node : graph.node()) {
    if (!of_onnx(node) || node.output_size() == 0 || node.output(0).empty() || types.contains(node.output(0))) continue;
    const onnx::OpSchema* schema = onnx::OpSchemaRegistry::Schema(node.op_type(), opset, onnx::ONNX_DOMAIN);
    if (schema == nullptr || schema->outputs().empty()) continue;
    for (std::size_t i = 0; i < std::min<std::size_t>(schema->inputs().size(), std::size_t(node.input_size())); ++i) {
      const auto type = types.find(node.input(static_cast<int>(i)));
      if (type == types.end() || schema->inputs()[i].GetTypeStr() != schema->outputs()[0].GetTypeStr()) continue;
      onnx::ValueInfoProto& output = told.emplace_back();
      output.set_name(node.output(0));
      *output.mutable_type() = *type->second;
      output.mutable_type()->mutable_tensor_type()->clear_shape();
      break;
    }
  }
  for (const onnx::ValueInfoProto& output : told) *graph.add_value_info() = output;
  return !told.empty();
}

/// GroupNormalization is a function of which ONNX infers nothing: its output has the type and the shape of its input.
void complete_schemas() {
  [[maybe_unused]] static const bool complete = [] {
    for (const int version : {18, 21}) {
      // The registry gives out what it holds as const; the schemas themselves are not.
      auto* schema =
          const_cast<onnx::OpSchema*>(onnx::OpSchemaRegistry::Schema("GroupNormalization", version, onnx::ONNX_DOMAIN));
      if (schema != nullptr && !schema->has_type_and_shape_inference_function())
        schema->TypeAndShapeInferenceFunction(onnx::propagateShapeAndTypeFromFirstInput);
    }
    return true;
  }();
}

/// Files that ONNX Runtime's tools write may use operators of a domain that they do not import: inference would stop.
void import_used_domains(onnx::ModelProto& proto) {
  std::set<std::string> known;
  for (const onnx::OperatorSetIdProto& import : proto.opset_import()) known.insert(import.domain());
  for_each_graph(std::as_const(proto).graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (of_onnx(node) || !known.insert(node.domain()).second) continue;
      onnx::OperatorSetIdProto& import = *proto.add_opset_import();
      import.set_domain(node.domain());
      import.set_version(1);
    }
  });
}

/// Infers inside `proto`, which it spoils, and tells each tensor's type; what is told later is nearer the truth.
void infer_inside(onnx::ModelProto& proto,
                  const std::function<void(const std::string& name, const onnx::TypeProto& type)>& tell) {
  // Old intermediate annotations may be wrong; only inputs, outputs and initializers are believed, and
  // what nobody could infer. Stubs keep type and
  // dims, which is all that inference needs of large weights.
  register_tensorrt_operators();
  complete_schemas();
  import_used_domains(proto);
  for_each_graph(*proto.mutable_graph(), keep_custom_types);
  try {
    const onnx::ShapeInferenceOptions options(/*check_type_val=*/false, /*strict_mode_val=*/0, /*data_prop_val=*/true);
    for (bool again = true; again;) {
      onnx::shape_inference::InferShapes(proto, onnx::OpSchemaRegistry::Instance(), options);
      const bool codes = give_codes_a_type(*proto.mutable_graph());
      const bool typed = give_types_of_schemas(*proto.mutable_graph(), default_opset(proto));
      again = give_reshapes_a_rank(*proto.mutable_graph()) || codes || typed;
    }
  } catch (const std::exception&) {
    // Inference is best effort: what it cannot type stays absent, and callers treat it as unknown.
  }
  for_each_graph(std::as_const(proto).graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      onnx::TypeProto type;
      type.mutable_tensor_type()->set_elem_type(tensor.data_type());
      onnx::TensorShapeProto& shape = *type.mutable_tensor_type()->mutable_shape();
      for (const std::int64_t dim : tensor.dims()) shape.add_dim()->set_dim_value(dim);
      tell(tensor.name(), type);
    }
    for (const auto* values : {&graph.value_info(), &graph.output(), &graph.input()}) {
      for (const onnx::ValueInfoProto& value : *values) {
        if (value.has_type()) tell(value.name(), value.type());
      }
    }
  });
}

std::map<std::string, ValueType> value_types(onnx::ModelProto& proto) {
  std::map<std::string, ValueType> types;
  infer_inside(proto, [&](const std::string& name, const onnx::TypeProto& type) {
    if (!type.has_tensor_type()) {
      types.erase(name);
      return;
    }
    ValueType& known = types[name];
    known.dtype = static_cast<Dtype>(type.tensor_type().elem_type());
    known.rank_known = type.tensor_type().has_shape();
    known.shape.clear();
    for (const auto& dim : type.tensor_type().shape().dim()) {
      known.shape.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
    }
  });
  return types;
}

}  // namespace

std::map<std::string, onnx::TypeProto> infer_type_protos(const Model& model) {
  onnx::ModelProto proto = model.proto;
  std::map<std::string, onnx::TypeProto> types;
  infer_inside(proto, [&](const std::string& name, const onnx::TypeProto& type) { types[name] = type; });
  return types;
}

std::map<std::string, ValueType> infer_types(const Model& model) {
  onnx::ModelProto proto = model.proto;
  return value_types(proto);
}

std::map<std::string, ValueType> infer_types_in_place(Model& model) {
  bool bodies = false;
  for_each_graph(std::as_const(model.proto).graph(),
                 [&](const onnx::GraphProto& graph) { bodies = bodies || &graph != &model.proto.graph(); });
  if (bodies) return infer_types(model);  // inference writes into them, too
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  const auto outputs = graph.output();
  std::map<std::string, ValueType> types = value_types(model.proto);
  *graph.mutable_output() = outputs;
  google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>().Swap(graph.mutable_value_info());
  return types;
}

}  // namespace vernier
