#include "jobs/common/lint_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "base/text.h"
#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "model/graph_edit.h"
#include "model/type_protos.h"
#include "vernier/error.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Of these domains ONNX Runtime knows what there is.
bool is_known_domain(const std::string& domain) {
  constexpr std::array kKnown{"", "ai.onnx", "ai.onnx.ml", "ai.onnx.training", "com.microsoft"};
  return std::ranges::find(kKnown, domain) != kKnown.end();
}

/// What the node reads from outside: nothing that is made in its own bodies.
std::set<std::string> outer_reads(const onnx::NodeProto& node) {
  std::set<std::string> names = tensors_read(node);
  for_each_body(node, [&](const onnx::GraphProto& body) {
    for_each_graph(body, [&](const onnx::GraphProto& graph) {
      for (const onnx::NodeProto& inner : graph.node()) {
        for (const std::string& made : inner.output()) names.erase(made);
      }
      for (const onnx::ValueInfoProto& input : graph.input()) names.erase(input.name());
      for (const onnx::TensorProto& constant : graph.initializer()) names.erase(constant.name());
    });
  });
  names.erase("");
  return names;
}

class Walk {
 public:
  Walk(std::shared_ptr<const Runtime> runtime, const Model& model, const Sample& inputs)
      : runtime_(std::move(runtime)), model_(model), values_(inputs) {
    for (const onnx::TensorProto& tensor : model.proto.graph().initializer()) constants_[tensor.name()] = &tensor;
    for (const onnx::NodeProto& node : model.proto.graph().node()) {
      for (const std::string& name : outer_reads(node)) ++readers_[name];
    }
  }

  std::vector<NodeTrial> run() {
    const onnx::GraphProto& graph = model_.proto.graph();
    std::vector<NodeTrial> trials;
    std::set<int> left;
    for (int i = 0; i < graph.node_size(); ++i) left.insert(left.end(), i);
    for (bool any = true; any;) {  // files may hold their nodes in any order
      any = false;
      for (auto i = left.begin(); i != left.end();) {
        const onnx::NodeProto& node = graph.node(*i);
        const std::optional<Model> alone = node_alone(node);
        if (!alone) {
          ++i;
          continue;
        }
        trials.push_back(trial(node, *alone));
        i = left.erase(i);
        any = true;
      }
    }
    return trials;
  }

 private:
  /// The node as a model; absent while a value that it reads is missing.
  std::optional<Model> node_alone(const onnx::NodeProto& node) const {
    Model alone;
    alone.path = model_.path;
    alone.proto.set_ir_version(model_.proto.ir_version());
    *alone.proto.mutable_opset_import() = model_.proto.opset_import();
    *alone.proto.mutable_functions() = model_.proto.functions();
    onnx::GraphProto& graph = *alone.proto.mutable_graph();
    graph.set_name("node");
    *graph.add_node() = node;
    for (const std::string& name : outer_reads(node)) {
      if (const auto value = values_.find(name); value != values_.end()) {
        add_input(graph, name, value->second.dtype(), value->second.shape());
      } else if (const auto constant = constants_.find(name); constant != constants_.end()) {
        const auto weight = model_.weights.find(name);
        const bool outside = constant->second->data_location() == onnx::TensorProto::EXTERNAL;
        if (outside && weight == model_.weights.end()) return std::nullopt;  // its file is missing, which is said
        *graph.add_initializer() = *constant->second;
        if (weight != model_.weights.end()) alone.weights.insert(*weight);
      } else {
        return std::nullopt;
      }
    }
    for (const std::string& name : node.output()) {
      if (!name.empty()) graph.add_output()->set_name(name);
    }
    return alone;
  }

  NodeTrial trial(const onnx::NodeProto& node, const Model& alone) {
    NodeTrial trial{node.name(), {}, false, false};
    bool loading = true;
    try {
      const Session session(runtime_, alone, {.optimize = false});
      loading = false;
      std::vector<Tensor> made = session.run(values_);
      for (std::size_t i = 0; i < made.size(); ++i) values_[session.output_names()[i]] = std::move(made[i]);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Input && error.kind() != ErrorKind::Backend) throw;
      // What gives no tensors is not at fault; what it gives is missing behind it.
      if (error.kind() == ErrorKind::Backend) trial.refusal = first_line(error.reason());
      trial.unknown = !trial.refusal.empty() && !is_known_domain(node.domain());
      // What refuses to load and names a node has no kernel for it, does not know it, or could not infer its shapes.
      trial.inferred = loading && !error.node().empty() && error.code() != ErrorCode::NoKernel && !trial.unknown;
    }
    for (const std::string& name : outer_reads(node)) {
      if (--readers_[name] == 0) values_.erase(name);
    }
    return trial;
  }

  std::shared_ptr<const Runtime> runtime_;
  const Model& model_;
  std::map<std::string, const onnx::TensorProto*> constants_;
  std::map<std::string, std::size_t> readers_;  // nodes that have not run
  Sample values_;
};

}  // namespace

std::vector<NodeTrial> try_nodes_alone(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                                       const Sample& inputs) {
  return Walk(runtime, model, inputs).run();
}

}  // namespace vernier
