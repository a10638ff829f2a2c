// `vernier inspect model`: what is in the file.

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "jobs/common/missing_weights.h"
#include "model/data_dependent.h"
#include "model/graph_edit.h"
#include "model/layers.h"
#include "model/module_paths.h"
#include "model/raw_proto.h"
#include "model/trip_counts.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/inspect.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using TypeProtos = std::map<std::string, onnx::TypeProto>;

InspectedTensor inspected(const std::string& name, const onnx::TypeProto& type) {
  InspectedTensor tensor;
  tensor.name = name;
  if (!type.has_tensor_type()) {
    tensor.kind = type.has_sequence_type() ? InspectedTensor::Kind::Sequence : InspectedTensor::Kind::Other;
    return tensor;
  }
  tensor.kind = InspectedTensor::Kind::Tensor;
  tensor.dtype = static_cast<Dtype>(type.tensor_type().elem_type());
  if (!type.tensor_type().has_shape()) return tensor;
  tensor.dims.emplace();
  for (const auto& dim : type.tensor_type().shape().dim()) {
    const bool ours = dim.dim_param().starts_with("unk__");  // a name that inference made up
    tensor.dims->push_back(dim.has_dim_value()            ? std::to_string(dim.dim_value())
                           : dim.has_dim_param() && !ours ? dim.dim_param()
                                                          : "?");
  }
  return tensor;
}

using Values = google::protobuf::RepeatedPtrField<onnx::ValueInfoProto>;

std::vector<InspectedTensor> inspected(const Values& values) {
  std::vector<InspectedTensor> tensors;
  for (const onnx::ValueInfoProto& value : values) tensors.push_back(inspected(value.name(), value.type()));
  return tensors;
}

using Names = google::protobuf::RepeatedPtrField<std::string>;

std::vector<InspectedTensor> inspected(const Names& names, const TypeProtos& types) {
  std::vector<InspectedTensor> tensors;
  for (const std::string& name : names) {
    const auto type = types.find(name);
    if (type == types.end()) {
      tensors.emplace_back().name = name;
    } else {
      tensors.push_back(inspected(name, type->second));
    }
  }
  return tensors;
}

class Lister {
 public:
  Lister(const std::vector<Layer>& layers, TypeProtos types, std::map<std::string, std::string> modules)
      : types_(std::move(types)), modules_(std::move(modules)) {
    for (const Layer& layer : layers) layers_[layer.name] = &layer;
  }

  InspectedGraph list(const onnx::GraphProto& graph) const {
    InspectedGraph listed;
    listed.inputs = inspected(graph.input());
    listed.outputs = inspected(graph.output());
    for (const onnx::NodeProto& node : graph.node()) {
      InspectedNode& entry = listed.nodes.emplace_back();
      entry.name = node.name();
      entry.op_type = node.op_type();
      if (const auto layer = layers_.find(node.name()); layer != layers_.end()) {
        entry.role = layer->second->follows ? InspectedNode::Role::MovesData : InspectedNode::Role::Layer;
      }
      if (const auto module = modules_.find(node.name()); module != modules_.end()) entry.module = module->second;
      entry.inputs = inspected(node.input(), types_);
      entry.outputs = inspected(node.output(), types_);
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        entry.attributes.push_back({attribute.name(), value_of(attribute)});
      }
    }
    return listed;
  }

 private:
  InspectedAttribute::Value value_of(const onnx::AttributeProto& attribute) const {
    switch (attribute.type()) {
      case onnx::AttributeProto::INT:
        return attribute.i();
      case onnx::AttributeProto::FLOAT:
        return attribute.f();
      case onnx::AttributeProto::STRING:
        return attribute.s();
      case onnx::AttributeProto::INTS:
        return std::vector<std::int64_t>(attribute.ints().begin(), attribute.ints().end());
      case onnx::AttributeProto::FLOATS:
        return std::vector<float>(attribute.floats().begin(), attribute.floats().end());
      case onnx::AttributeProto::STRINGS:
        return std::vector<std::string>(attribute.strings().begin(), attribute.strings().end());
      case onnx::AttributeProto::TENSOR:
        return InspectedAttribute::OfTensor{Shape(attribute.t().dims().begin(), attribute.t().dims().end())};
      case onnx::AttributeProto::GRAPH:
        return InspectedAttribute::OfGraphs{{list(attribute.g())}, false};
      case onnx::AttributeProto::GRAPHS: {
        InspectedAttribute::OfGraphs graphs;
        graphs.listed = true;
        for (const onnx::GraphProto& body : attribute.graphs()) graphs.bodies.push_back(list(body));
        return graphs;
      }
      default:
        return {};
    }
  }

  std::map<std::string, const Layer*> layers_;
  TypeProtos types_;
  std::map<std::string, std::string> modules_;
};

std::vector<InspectedWeight> list_weights(const Model& model) {
  std::vector<InspectedWeight> weights;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      weights.push_back(
          {tensor.name(), static_cast<Dtype>(tensor.data_type()), Shape(tensor.dims().begin(), tensor.dims().end())});
    }
  });
  return weights;
}

/// The model with every size of its inputs that is left open set to 1; nullopt when there is none.
std::optional<Model> with_open_sizes_of_one(const Model& model) {
  bool any = false;
  for (const InputInfo& input : model_inputs(model)) {
    any = any || std::any_of(input.shape.begin(), input.shape.end(), [](std::int64_t dim) { return dim < 0; });
  }
  if (!any) return std::nullopt;
  Model closed = model;
  closed.proto.mutable_graph()->clear_value_info();  // it may say again what was left open
  for (onnx::ValueInfoProto& input : *closed.proto.mutable_graph()->mutable_input()) {
    for (auto& dim : *input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim()) {
      if (!dim.has_dim_value() || dim.dim_value() < 0) dim.set_dim_value(1);
    }
  }
  for (onnx::ValueInfoProto& output : *closed.proto.mutable_graph()->mutable_output()) {
    if (output.type().has_tensor_type()) output.mutable_type()->mutable_tensor_type()->clear_shape();
  }
  return closed;
}

/// Nodes and operators, initializers and float parameters, over all graphs.
void count_contents(const Model& model, ModelInspection& report) {
  std::map<std::string, std::size_t> operators;
  std::set<std::string> codes;  // initializers that are read as codes
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      ++operators[node.op_type()];
      ++report.nodes;
      if (node.op_type() == "DequantizeLinear" && node.input_size() > 0) codes.insert(node.input(0));
    }
  });
  const auto count = [&](const onnx::TensorProto& tensor, const std::string& name) {
    const auto dtype = static_cast<Dtype>(tensor.data_type());
    const std::int64_t elements = element_count(Shape(tensor.dims().begin(), tensor.dims().end()));
    ++report.initializers;
    report.initializer_bytes += elements * dtype_bits(dtype) / 8;
    const bool is_float =
        dtype == Dtype::Float32 || dtype == Dtype::Float16 || dtype == Dtype::BFloat16 || dtype == Dtype::Float64;
    if (is_float) report.parameters += elements;
    if (!is_float && codes.contains(name)) report.coded_parameters += elements;
    if (is_float || codes.contains(name)) report.parameter_bytes += elements * dtype_bits(dtype) / 8;
  };
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) count(tensor, tensor.name());
    for (const onnx::NodeProto& node : graph.node()) {  // where some exporters keep every weight
      const onnx::AttributeProto* value = node.op_type() == "Constant" ? find_attribute(node, "value") : nullptr;
      if (value != nullptr && value->has_t() && node.output_size() == 1) count(value->t(), node.output(0));
    }
  });
  report.operators.assign(operators.begin(), operators.end());
  std::sort(report.operators.begin(), report.operators.end(),
            [](const auto& a, const auto& b) { return std::tie(a.second, a.first) > std::tie(b.second, b.first); });
}

/// Multiply-accumulates of the layers, where their shapes are fixed.
void count_costs(const Model& model, const std::vector<Layer>& layers, const std::map<std::string, ValueType>& types,
                 ModelInspection& report) {
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(model.proto.graph());
  std::optional<Model> closed = with_open_sizes_of_one(model);
  report.open_sizes_as_one = closed.has_value();
  const std::map<std::string, ValueType> closed_types =
      closed ? infer_types_in_place(*closed) : std::map<std::string, ValueType>();
  const std::map<std::string, ValueType>& known_types = closed ? closed_types : types;
  const auto known = [&](const std::string& name) {
    const auto type = known_types.find(name);
    return type != known_types.end() && type->second.rank_known &&
           std::none_of(type->second.shape.begin(), type->second.shape.end(), [](std::int64_t dim) { return dim < 0; });
  };
  const TripCounts trips(model, [&](const std::string& tensor) {
    const auto type = known_types.find(tensor);
    return type == known_types.end() || !type->second.rank_known ? std::nullopt : std::optional(type->second.shape);
  });
  for (const Layer& layer : layers) {
    const onnx::NodeProto& node = *nodes.at(layer.name);
    const std::vector<std::string> tensors = tensors_of_products(layer, node);
    if (tensors.empty()) continue;
    if (std::ranges::all_of(tensors, known)) {
      const std::int64_t once =
          multiply_accumulates(layer, node, [&](const std::string& name) { return known_types.at(name).shape; });
      const auto count = trips.of(layer.graph);
      report.multiply_accumulates += once * count.value_or(1);
      if (!count) ++report.layers_counted_once;
    } else {
      ++report.layers_of_unknown_shape;
    }
  }
}

}  // namespace

UnboundedSizes list_unbounded_sizes(const OnnxModel& model, const std::filesystem::path& external_data_dir) {
  return {model.name(), unbounded_sizes(MissingWeights().read_unhashed(model, external_data_dir))};
}

ModelInspection inspect_model(const InspectOptions& options) {
  // Without the hash of weights beside the file: nothing here names the model, and they may be gigabytes.
  MissingWeights missing;
  Model model = options.skip_external_data ? read_model_without_external_data(options.model)
                                           : missing.read_unhashed(options.model, options.external_data_dir);
  missing.put_back(model);
  override_input_shapes(model, {options.input_shapes.begin(), options.input_shapes.end()}, "‹input-shapes›");
  const std::map<std::string, ValueType> types = infer_types_in_place(model);
  const std::vector<Layer> layers = find_layers(model, types);
  const onnx::GraphProto& graph = model.proto.graph();
  ModelInspection report;
  report.file = options.model.name();
  report.graph = graph.name();
  report.opset = default_opset(model.proto);
  report.ir_version = model.proto.ir_version();
  for (const onnx::OperatorSetIdProto& opset : model.proto.opset_import()) {
    if (!opset.domain().empty()) report.domains.emplace_back(opset.domain(), opset.version());
  }
  report.inputs = inspected(graph.input());
  report.outputs = inspected(graph.output());
  report.layers = layers.size();
  for (const Layer& layer : layers) {
    if (layer.weighted) ++report.weighted_layers;
    if (layer.follows) ++report.moving_layers;
  }
  count_contents(model, report);
  count_costs(model, layers, types, report);
  report.with_attributes = options.attributes;
  if (options.nodes || options.attributes) {
    report.main = Lister(layers, infer_type_protos(model), module_paths(model)).list(graph);
  }
  if (options.weights) report.weights = list_weights(model);
  return report;
}

}  // namespace vernier
