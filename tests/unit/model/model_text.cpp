#include "model_text.h"

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <optional>
#include <stdexcept>
#include <string_view>
#include <vector>

#include "vernier/tensor.h"

namespace vernier::testing {

onnx::ModelProto parse(const std::string& text) {
  onnx::ModelProto proto;
  const auto status = onnx::OnnxParser::Parse(proto, text.c_str());
  if (!status.IsOK()) throw std::runtime_error("the test's own model: " + status.ErrorMessage());
  return proto;
}

Model model_of(const std::string& text) { return adopt_model(parse(text)); }

std::vector<std::string> node_names(const Model& model) {
  std::vector<std::string> names;
  for (const onnx::NodeProto& node : model.proto.graph().node()) names.push_back(node.name());
  return names;
}

std::vector<std::string> op_types(const Model& model) {
  std::vector<std::string> types;
  for (const onnx::NodeProto& node : model.proto.graph().node()) types.push_back(node.op_type());
  return types;
}

const onnx::NodeProto& node_named(const Model& model, std::string_view name) {
  const onnx::NodeProto* found = nullptr;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (node.name() == name) found = &node;
    }
  });
  if (found == nullptr) throw std::runtime_error("the model has no node " + std::string(name));
  return *found;
}

std::vector<float> floats_of(const Model& model, const std::string& initializer_name) {
  const std::optional<Tensor> value = initializer(model, initializer_name);
  if (!value) throw std::runtime_error("the model has no initializer " + initializer_name);
  return {value->floats().begin(), value->floats().end()};
}

}  // namespace vernier::testing
