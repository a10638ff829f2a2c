#include "plan/operators/operators.h"

#include <algorithm>
#include <array>

#include "model/graph_edit.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr std::array kLists = {
    EngineOperators{"TensorRT", "10.15", "github.com/onnx/onnx-tensorrt, docs/operators.md, as of TensorRT 10.15", 9,
                    24, tensorrt_verdict},
    EngineOperators{"OpenVINO", "2025",
                    "github.com/openvinotoolkit/openvino, src/frontends/onnx/docs/supported_ops.md, commit 0ae60f0", 1,
                    23, openvino_verdict},
};

void add_constants(const onnx::GraphProto& graph, std::set<std::string>& varying, std::set<std::string>& constants) {
  for (const onnx::ValueInfoProto& input : graph.input()) varying.insert(input.name());
  for (const onnx::NodeProto& node : graph.node()) {
    const std::set<std::string> reads = tensors_read(node);
    const bool varies =
        (reads.empty() && node.op_type() != "Constant") ||
        std::any_of(reads.begin(), reads.end(), [&](const std::string& name) { return varying.contains(name); });
    for (const std::string& output : node.output()) (varies ? varying : constants).insert(output);
    for_each_body(node, [&](const onnx::GraphProto& body) { add_constants(body, varying, constants); });
  }
}

}  // namespace

NodeSurroundings::NodeSurroundings(const Model& whole)
    : model(whole), types(infer_types(whole)), constants(initializer_names(whole)), opset(default_opset(whole.proto)) {
  std::set<std::string> varying;
  add_constants(whole.proto.graph(), varying, constants);
}

std::optional<Dtype> NodeSurroundings::dtype(const std::string& tensor) const {
  const auto type = types.find(tensor);
  if (type == types.end() || type->second.dtype == Dtype::Undefined) return std::nullopt;
  return type->second.dtype;
}

std::optional<Shape> NodeSurroundings::shape(const std::string& tensor) const {
  const auto type = types.find(tensor);
  if (type == types.end() || !type->second.rank_known) return std::nullopt;
  return type->second.shape;
}

const EngineOperators* engine_operators(Target target) {
  if (target == Target::TensorRt) return &kLists[0];
  if (target == Target::OpenVino) return &kLists[1];
  return nullptr;
}

}  // namespace vernier
