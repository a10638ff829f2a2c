// Small models written as text in ONNX's own graph language, and questions about what lowering made of them.
#pragma once

#include <gtest/gtest.h>
#include <onnx/defs/parser.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"
#include "vernier/format.h"

namespace vernier::testing {

/// `text` is a graph: name (inputs) => (outputs) <initializers> { nodes }. Nodes without [name] get "<Op>_<index>".
inline Model parse_model(const std::string& text, int opset = 17) {
  onnx::ModelProto proto;
  const std::string header = "<ir_version: 8, opset_import: [\"\" : " + std::to_string(opset) + "]>\n";
  const onnx::Common::Status status = onnx::OnnxParser::Parse(proto, (header + text).c_str());
  EXPECT_TRUE(status.IsOK()) << status.ErrorMessage();
  // The text language has no float8 or bfloat16 initializers and needs none: weights here are float32.
  return adopt_model(std::move(proto));
}

inline Plan plan_of(std::vector<PlannedLayer> layers, std::map<std::string, QuantParams> tensors = {}) {
  Plan plan;
  plan.layers = std::move(layers);
  plan.tensors = std::move(tensors);
  return plan;
}

inline QuantParams params_of(Format format, std::vector<float> scale, int axis = -1) {
  QuantParams params;
  params.format = format;
  params.scale = std::move(scale);
  params.axis = axis;
  return params;
}

inline const onnx::NodeProto* find_node(const onnx::GraphProto& graph, const std::string& name) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.name() == name) return &node;
  }
  return nullptr;
}

/// Two products with an activation and a move between them.
inline constexpr const char* kTwoProducts = R"(
  g (float[1,2] x) => (float[1,3] y) <float[2,2] w1 = {1, -2, 3, 4}, float[2,3] w2 = {1, 2, 3, 4, 5, -6},
    int64[2] shape = {1, 2}> {
    [fc1] a = MatMul(x, w1)
    [act] b = Relu(a)
    [move] c = Reshape(b, shape)
    [fc2] y = MatMul(c, w2)
  })";

inline const onnx::NodeProto& node_named(const Model& model, std::string_view name) {
  const onnx::NodeProto* found = nullptr;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    if (const onnx::NodeProto* node = find_node(graph, std::string(name))) found = node;
  });
  if (found == nullptr) throw std::runtime_error("no node " + std::string(name));
  return *found;
}

inline std::vector<std::string> names_of(const onnx::GraphProto& graph, const std::string& op_type) {
  std::vector<std::string> names;
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.op_type() == op_type) names.push_back(node.name());
  }
  return names;
}

inline std::vector<std::string> inputs_of(const Model& model, const std::string& node) {
  const onnx::NodeProto& found = node_named(model, node);
  return {found.input().begin(), found.input().end()};
}

inline std::vector<std::string> outputs_of(const Model& model, const std::string& node) {
  const onnx::NodeProto& found = node_named(model, node);
  return {found.output().begin(), found.output().end()};
}

using Names = std::vector<std::string>;

}  // namespace vernier::testing
