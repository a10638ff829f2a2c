#include "model/subgraph.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

#include "base/text.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::set<std::string> read_by(const onnx::GraphProto& graph, const std::vector<int>& nodes) {
  std::set<std::string> reads;
  for (const int index : nodes) reads.merge(tensors_read(graph.node(index)));
  return reads;
}

std::unordered_set<std::string> made_by(const onnx::GraphProto& graph, const std::vector<int>& nodes) {
  std::unordered_set<std::string> made;
  for (const int index : nodes) made.insert(graph.node(index).output().begin(), graph.node(index).output().end());
  return made;
}

template <class Values>
const onnx::ValueInfoProto* find_value(const Values& values, const std::string& name) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const onnx::ValueInfoProto& value) { return value.name() == name; });
  return found == values.end() ? nullptr : &*found;
}

}  // namespace

std::vector<int> nodes_between(const Model& model, const std::set<std::string>& inputs,
                               const std::set<std::string>& outputs) {
  const onnx::GraphProto& graph = model.proto.graph();
  std::set<std::string> needed = outputs;
  std::vector<int> nodes;
  // Nodes are sorted: one walk from the end sees every reader before its producer.
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph.node(i);
    const bool wanted = std::any_of(node.output().begin(), node.output().end(), [&](const std::string& output) {
      return needed.contains(output) && !inputs.contains(output);
    });
    if (!wanted) continue;
    nodes.push_back(i);
    needed.merge(tensors_read(node));
  }
  std::reverse(nodes.begin(), nodes.end());
  return nodes;
}

std::vector<std::string> boundary(const Model& model, const std::vector<int>& nodes) {
  const onnx::GraphProto& graph = model.proto.graph();
  const std::set<std::string> reads = read_by(graph, nodes);
  const std::unordered_set<std::string> made = made_by(graph, nodes);
  std::vector<std::string> names;
  const auto take = [&](const std::string& name) {
    if (!name.empty() && reads.contains(name) && !made.contains(name)) names.push_back(name);
  };
  for (const onnx::ValueInfoProto& input : graph.input()) take(input.name());
  for (const onnx::NodeProto& node : graph.node()) std::for_each(node.output().begin(), node.output().end(), take);
  return names;
}

std::vector<std::string> results(const Model& model, const std::vector<int>& nodes) {
  const onnx::GraphProto& graph = model.proto.graph();
  const std::unordered_set<int> inside(nodes.begin(), nodes.end());
  std::unordered_set<std::string> outside_reads;
  std::unordered_set<std::string> inside_reads;
  for (int i = 0; i < graph.node_size(); ++i) {
    const std::set<std::string> reads = tensors_read(graph.node(i));
    (inside.contains(i) ? inside_reads : outside_reads).insert(reads.begin(), reads.end());
  }
  for (const onnx::ValueInfoProto& output : graph.output()) outside_reads.insert(output.name());
  std::vector<std::string> names;
  for (const int index : nodes) {
    for (const std::string& output : graph.node(index).output()) {
      if (output.empty()) continue;
      if (outside_reads.contains(output) || !inside_reads.contains(output)) names.push_back(output);
    }
  }
  return names;
}

Model piece_of(const Model& model, const std::vector<int>& nodes, const std::vector<std::string>& outputs,
               const std::map<std::string, onnx::TypeProto>& types, const std::map<std::string, Tensor>& frozen) {
  const onnx::GraphProto& graph = model.proto.graph();
  Model piece;
  piece.path = model.path;
  piece.data_files = model.data_files;
  piece.proto.set_ir_version(model.proto.ir_version());
  *piece.proto.mutable_opset_import() = model.proto.opset_import();
  *piece.proto.mutable_functions() = model.proto.functions();
  onnx::GraphProto& part = *piece.proto.mutable_graph();
  part.set_name(graph.name());
  for (const int index : nodes) *part.add_node() = graph.node(index);

  const std::set<std::string> reads = read_by(graph, nodes);
  const auto needed = [&](const std::string& name) {
    return reads.contains(name) || std::find(outputs.begin(), outputs.end(), name) != outputs.end();
  };
  for (const onnx::TensorProto& tensor : graph.initializer()) {
    if (!needed(tensor.name())) continue;
    *part.add_initializer() = tensor;
    if (const auto weight = model.weights.find(tensor.name()); weight != model.weights.end()) {
      piece.weights.insert(*weight);
    }
  }
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) {
    if (needed(tensor.values().name())) *part.add_sparse_initializer() = tensor;
  }
  // Weights of bodies travel inside their nodes; their bytes lie beside the message.
  for_each_graph(part, [&](onnx::GraphProto& inner) {
    for (const onnx::TensorProto& tensor : inner.initializer()) {
      if (const auto weight = model.weights.find(tensor.name()); weight != model.weights.end()) {
        piece.weights.insert(*weight);
      }
    }
  });

  const auto describe = [&](onnx::ValueInfoProto& value, const std::string& name, const onnx::ValueInfoProto* said) {
    value.set_name(name);
    const auto type = types.find(name);
    if (said != nullptr) {
      value = *said;
    } else if (type != types.end()) {
      *value.mutable_type() = type->second;
    }
  };
  for (const std::string& name : boundary(model, nodes)) {
    if (const auto constant = frozen.find(name); constant != frozen.end()) {
      set_initializer(piece, part, name, constant->second);
      continue;
    }
    onnx::ValueInfoProto& input = *part.add_input();
    describe(input, name, find_value(graph.input(), name));
    if (!input.has_type()) {
      throw Error(ErrorCode::InvalidModel, fmt::format("the type of tensor '{}' is not known", printable(name)));
    }
  }
  for (const std::string& name : outputs) describe(*part.add_output(), name, find_value(graph.output(), name));
  const std::unordered_set<std::string> made = made_by(graph, nodes);
  for (const onnx::ValueInfoProto& value : graph.value_info()) {
    if (made.contains(value.name()) && find_value(part.output(), value.name()) == nullptr) {
      *part.add_value_info() = value;
    }
  }
  return piece;
}

}  // namespace vernier
