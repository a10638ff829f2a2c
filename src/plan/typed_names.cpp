#include "plan/typed_names.h"

#include <functional>
#include <map>

#include "vernier/format.h"

namespace vernier {
namespace {

void for_each_name(onnx::GraphProto& graph, const std::function<void(std::string&)>& visit) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& name : *node.mutable_input()) visit(name);
    for (std::string& name : *node.mutable_output()) visit(name);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) for_each_name(*attribute.mutable_g(), visit);
    }
  }
  for (auto* values : {graph.mutable_input(), graph.mutable_output(), graph.mutable_value_info()}) {
    for (onnx::ValueInfoProto& value : *values) visit(*value.mutable_name());
  }
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) visit(*tensor.mutable_name());
}

/// "y" for "y.float16"; empty for others.
std::string name_in_float(const std::string& name) {
  for (const Format format : {Format::Float16, Format::BFloat16, Format::Float32}) {
    const std::string suffix = "." + std::string(format_name(format));
    if (name.size() > suffix.size() && name.ends_with(suffix)) return name.substr(0, name.size() - suffix.size());
  }
  return {};
}

}  // namespace

void restore_tensor_names(Model& model) {
  model.index.reset();
  onnx::GraphProto& graph = *model.proto.mutable_graph();
  std::set<std::string> used;
  for_each_name(graph, [&](std::string& name) { used.insert(name); });
  std::map<std::string, std::string> renamed;
  for (const onnx::NodeProto& node : graph.node()) {
    for (const std::string& output : node.output()) {
      const std::string name = name_in_float(output);
      if (!name.empty() && used.insert(name).second) renamed[output] = name;
    }
  }
  // Outputs of the file are its interface.
  for (const onnx::ValueInfoProto& output : graph.output()) renamed.erase(output.name());
  for_each_name(graph, [&](std::string& name) {
    if (const auto found = renamed.find(name); found != renamed.end()) name = found->second;
  });
}

std::set<std::string> tensors_of_typing(const Model& model) {
  const onnx::GraphProto& graph = model.proto.graph();
  std::set<std::string> outputs, used;
  for (const onnx::ValueInfoProto& output : graph.output()) outputs.insert(output.name());
  for (const onnx::ValueInfoProto& input : graph.input()) used.insert(input.name());
  for (const onnx::NodeProto& node : graph.node()) used.insert(node.output().begin(), node.output().end());
  std::set<std::string> tensors;
  for (const onnx::NodeProto& node : graph.node()) {
    const bool codes = node.op_type() == "QuantizeLinear" || node.op_type() == "DequantizeLinear";
    for (const std::string& output : node.output()) {
      if (!outputs.contains(output) && (codes || used.contains(name_in_float(output)))) tensors.insert(output);
    }
  }
  return tensors;
}

}  // namespace vernier
