#include "engines/onnxruntime/custom_types.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/operator_traits.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

using Types = std::map<std::string, onnx::TypeProto>;
using OwnedSession = Handle<OrtSession, &OrtApi::ReleaseSession>;
using OwnedTypeInfo = Handle<OrtTypeInfo, &OrtApi::ReleaseTypeInfo>;

struct Unknown {
  onnx::GraphProto* graph;
  const onnx::NodeProto* node;
};

/// The node as a model; nullopt when the type of an input is not known.
std::optional<onnx::ModelProto> alone(const Model& model, const onnx::NodeProto& node, const Types& types) {
  onnx::ModelProto proto;
  proto.set_ir_version(model.proto.ir_version());
  *proto.mutable_opset_import() = model.proto.opset_import();
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.set_name("node");
  *graph.add_node() = node;
  for (const std::string& name : std::set<std::string>(node.input().begin(), node.input().end())) {
    if (name.empty()) continue;
    const auto type = types.find(name);
    if (type == types.end()) return std::nullopt;
    onnx::ValueInfoProto& input = *graph.add_input();
    input.set_name(name);
    *input.mutable_type() = type->second;
  }
  for (const std::string& name : node.output()) {
    if (!name.empty()) graph.add_output()->set_name(name);
  }
  return proto;
}

void annotate(const Runtime& runtime, const onnx::ModelProto& proto, onnx::GraphProto& graph) {
  const OrtApi& api = runtime.api();
  const OwnedOptions options = runtime.new_options();
  runtime.check(api.SetSessionGraphOptimizationLevel(options.get(), ORT_DISABLE_ALL));
  runtime.check(api.SetSessionLogSeverityLevel(options.get(), ORT_LOGGING_LEVEL_FATAL));
  const std::string bytes = proto.SerializeAsString();
  OrtSession* raw_session = nullptr;
  runtime.check(api.CreateSessionFromArray(runtime.env(), bytes.data(), bytes.size(), options.get(), &raw_session));
  const OwnedSession session(api, raw_session);
  for (int i = 0; i < proto.graph().output_size(); ++i) {
    OrtTypeInfo* raw = nullptr;
    runtime.check(api.SessionGetOutputTypeInfo(raw_session, static_cast<std::size_t>(i), &raw));
    const OwnedTypeInfo owned(api, raw);
    const OrtTensorTypeAndShapeInfo* info = nullptr;
    runtime.check(api.CastTypeInfoToTensorInfo(raw, &info));
    if (info == nullptr) continue;  // a sequence, a map
    ONNXTensorElementDataType type = ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED;
    std::size_t rank = 0;
    runtime.check(api.GetTensorElementType(info, &type));
    runtime.check(api.GetDimensionsCount(info, &rank));
    onnx::ValueInfoProto& value = *graph.add_value_info();
    value.set_name(proto.graph().output(i).name());
    onnx::TypeProto_Tensor& told = *value.mutable_type()->mutable_tensor_type();
    told.set_elem_type(static_cast<int>(type));
    // Without dimensions it may be a scalar, or of unknown rank.
    for (std::size_t dim = 0; dim < rank; ++dim) told.mutable_shape()->add_dim();
  }
}

}  // namespace

bool holds_unknown_operators(const Model& model) {
  bool found = false;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    found = found || std::ranges::any_of(graph.node(), unknown_to_onnx);
  });
  return found;
}

void learn_custom_types(const Runtime& runtime, Model& model) {
  std::vector<Unknown> unknown;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      if (unknown_to_onnx(node)) unknown.push_back({&graph, &node});
    }
  });
  for (bool again = true; again && !unknown.empty();) {
    again = false;
    const Types types = infer_type_protos(model);
    std::erase_if(unknown, [&](const Unknown& one) {
      bool known = true;
      for (const std::string& name : one.node->output()) known = known && (name.empty() || types.contains(name));
      if (known) return true;
      const std::optional<onnx::ModelProto> proto = alone(model, *one.node, types);
      if (!proto) return false;
      try {
        annotate(runtime, *proto, *one.graph);
        again = true;
      } catch (const Error&) {  // whatever it lacks: its types stay unknown
      }
      return true;
    });
  }
}

}  // namespace vernier
