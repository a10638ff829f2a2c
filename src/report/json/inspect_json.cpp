// `vernier inspect model` as JSON: what its text says, with names as in the file.
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "report/json/document.h"
#include "vernier/report/inspect.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

Json graph_json(const InspectedGraph& graph, bool attributes);

Json json_of_tensor(const InspectedTensor& tensor) {
  Json json = Json::Object{{"name", tensor.name}};
  if (tensor.kind != InspectedTensor::Kind::Tensor) return json;
  json["dtype"] = dtype_name(tensor.dtype);
  if (!tensor.dims) return json;
  Json dims = Json::array();
  for (const std::string& dim : *tensor.dims) {
    // Numbers as numbers; open sizes by their name, or null.
    const bool number = !dim.empty() && dim.find_first_not_of("0123456789") == std::string::npos && dim.size() < 19;
    dims.add(number ? Json(std::stoll(dim)) : dim == "?" ? Json() : Json(dim));
  }
  json["shape"] = std::move(dims);
  return json;
}

Json json_of_tensors(const std::vector<InspectedTensor>& tensors) {
  Json list = Json::array();
  for (const InspectedTensor& tensor : tensors) list.add(json_of_tensor(tensor));
  return list;
}

struct ValueJson {
  bool attributes;
  Json operator()(std::monostate) const { return {}; }
  Json operator()(std::int64_t value) const { return value; }
  Json operator()(float value) const { return static_cast<double>(value); }
  Json operator()(const std::string& value) const { return value; }
  Json operator()(const std::vector<float>& values) const {
    Json list = Json::array();
    for (const float value : values) list.add(static_cast<double>(value));
    return list;
  }
  template <class Value>
  Json operator()(const std::vector<Value>& values) const {
    return Json::Array(values.begin(), values.end());
  }
  Json operator()(const InspectedAttribute::OfTensor& value) const {
    return Json::Object{{"tensor", Json::Array(value.shape.begin(), value.shape.end())}};
  }
  Json operator()(const InspectedAttribute::OfGraphs& value) const {
    Json list = Json::array();
    for (const InspectedGraph& body : value.bodies) list.add(graph_json(body, attributes));
    return list;
  }
};

Json graph_json(const InspectedGraph& graph, bool attributes) {
  Json nodes = Json::array();
  for (const InspectedNode& node : graph.nodes) {
    Json one = Json::Object{{"name", node.name},
                            {"op", node.op_type},
                            {"layer", node.role == InspectedNode::Role::Layer},
                            {"moves_data", node.role == InspectedNode::Role::MovesData},
                            {"inputs", json_of_tensors(node.inputs)},
                            {"outputs", json_of_tensors(node.outputs)}};
    if (!node.module.empty()) one["module"] = node.module;
    Json values = Json::object();
    for (const InspectedAttribute& attribute : node.attributes) {
      const bool bodies = std::holds_alternative<InspectedAttribute::OfGraphs>(attribute.value);
      if (attributes || bodies) values.add(attribute.name, std::visit(ValueJson{attributes}, attribute.value));
    }
    if (!values.empty()) one["attributes"] = std::move(values);
    nodes.add(std::move(one));
  }
  return Json::Object{{"inputs", json_of_tensors(graph.inputs)},
                      {"outputs", json_of_tensors(graph.outputs)},
                      {"nodes", std::move(nodes)}};
}

}  // namespace

std::string report_to_json(const ModelInspection& report) {
  Json domains = Json::object();
  for (const auto& [domain, version] : report.domains) domains.add(domain, version);
  Json operators = Json::object();
  for (const auto& [name, count] : report.operators) operators.add(name, count);
  Json json = Json::Object{{"version", 1},
                           {"file", report.file},
                           {"graph", report.graph},
                           {"opset", report.opset},
                           {"domains", std::move(domains)},
                           {"ir_version", report.ir_version},
                           {"nodes", report.nodes},
                           {"initializers", report.initializers},
                           {"initializer_bytes", report.initializer_bytes},
                           {"inputs", json_of_tensors(report.inputs)},
                           {"outputs", json_of_tensors(report.outputs)},
                           {"layers", report.layers},
                           {"weighted_layers", report.weighted_layers},
                           {"moving_layers", report.moving_layers},
                           {"parameters", report.parameters},
                           {"coded_parameters", report.coded_parameters},
                           {"parameter_bytes", report.parameter_bytes},
                           {"multiply_accumulates", report.multiply_accumulates},
                           {"layers_of_unknown_shape", report.layers_of_unknown_shape},
                           {"layers_counted_once", report.layers_counted_once},
                           {"open_sizes_as_one", report.open_sizes_as_one},
                           {"operators", std::move(operators)}};
  if (report.main) json["main"] = graph_json(*report.main, report.with_attributes);
  if (report.weights) {
    Json weights = Json::array();
    for (const InspectedWeight& weight : *report.weights) {
      weights.add(Json::Object{{"name", weight.name},
                               {"dtype", dtype_name(weight.dtype)},
                               {"shape", Json::Array(weight.shape.begin(), weight.shape.end())}});
    }
    json["weights"] = std::move(weights);
  }
  return document_text(ReportKind::InspectModel, std::move(json));
}

}  // namespace vernier
