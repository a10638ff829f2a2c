#include "model/graph_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

#include "base/text.h"
#include "vernier/error.h"

namespace vernier {
namespace {

void verify_graph(const onnx::GraphProto& graph, std::set<std::string> known, std::set<std::string>& nodes,
                  std::set<std::string>& tensors, const std::string& step) {
  const auto define = [&](const std::string& name, const std::string& where) {
    if (name.empty()) return;
    if (!tensors.insert(name).second) {
      throw Error(ErrorKind::Internal, fmt::format("{}: {} defines '{}' a second time", step, where, printable(name)));
    }
    known.insert(name);
  };
  for (const onnx::ValueInfoProto& value : graph.input()) define(value.name(), "an input");
  for (const onnx::TensorProto& tensor : graph.initializer()) define(tensor.name(), "an initializer");
  for (const onnx::SparseTensorProto& tensor : graph.sparse_initializer()) {
    define(tensor.values().name(), "an initializer");
  }
  for (const onnx::NodeProto& node : graph.node()) {
    const std::string where = fmt::format("node '{}' ({})", printable(node.name()), printable(node.op_type()));
    if (node.name().empty() || !nodes.insert(node.name()).second) {
      throw Error(ErrorKind::Internal, fmt::format("{}: {} has no name of its own", step, where));
    }
    for (const std::string& input : node.input()) {
      if (!input.empty() && !known.contains(input)) {
        throw Error(ErrorKind::Internal,
                    fmt::format("{}: {} reads '{}', which nothing before it produces", step, where, printable(input)));
      }
    }
    for_each_body(node, [&](const onnx::GraphProto& body) { verify_graph(body, known, nodes, tensors, step); });
    for (const std::string& output : node.output()) define(output, where);
  }
  for (const onnx::ValueInfoProto& output : graph.output()) {
    if (!known.contains(output.name())) {
      throw Error(ErrorKind::Internal,
                  fmt::format("{}: output '{}' is produced by nothing", step, printable(output.name())));
    }
  }
}

}  // namespace

void for_each_body(const onnx::NodeProto& node, const std::function<void(const onnx::GraphProto&)>& visit) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) visit(attribute.g());
    for (const onnx::GraphProto& body : attribute.graphs()) visit(body);
  }
}

const onnx::NodeProto* find_node(const onnx::GraphProto& graph, const std::string& name) {
  const onnx::NodeProto* found = nullptr;
  for_each_graph(graph, [&](const onnx::GraphProto& part) {
    for (const onnx::NodeProto& node : part.node()) {
      if (node.name() == name) found = &node;
    }
  });
  return found;
}

std::map<std::string, const onnx::NodeProto*> nodes_by_name(const onnx::GraphProto& graph) {
  std::map<std::string, const onnx::NodeProto*> nodes;
  for_each_graph(graph, [&](const onnx::GraphProto& inner) {
    for (const onnx::NodeProto& node : inner.node()) nodes.emplace(node.name(), &node);
  });
  return nodes;
}

onnx::NodeProto* find_node(onnx::GraphProto& graph, const std::string& name) {
  return const_cast<onnx::NodeProto*>(find_node(std::as_const(graph), name));
}

bool has_body(const onnx::NodeProto& node) {
  return std::ranges::any_of(node.attribute(), [](const onnx::AttributeProto& attribute) {
    return attribute.has_g() || attribute.graphs_size() > 0;
  });
}

std::map<std::string, int> count_readers(const Model& model) {
  std::map<std::string, int> readers;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      for (const std::string& input : node.input()) ++readers[input];
    }
    for (const onnx::ValueInfoProto& output : graph.output()) ++readers[output.name()];
  });
  return readers;
}

std::set<std::string> all_graph_outputs(const Model& model) {
  std::set<std::string> names;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::ValueInfoProto& output : graph.output()) names.insert(output.name());
  });
  return names;
}

std::set<std::string> initializer_names(const Model& model) {
  std::set<std::string> names;
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) names.insert(tensor.name());
  });
  return names;
}

onnx::GraphProto* owner_of_initializer(Model& model, const std::string& name) {
  onnx::GraphProto* owner = nullptr;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (owner == nullptr && tensor.name() == name) owner = &graph;
    }
  });
  return owner;
}

void rename_reads(onnx::GraphProto& graph, const std::string& from, const std::string& to) {
  for_each_graph(graph, [&](onnx::GraphProto& inner) {
    for (onnx::NodeProto& node : *inner.mutable_node()) {
      for (std::string& input : *node.mutable_input()) {
        if (input == from) input = to;
      }
    }
    if (&inner == &graph) return;
    for (onnx::ValueInfoProto& output : *inner.mutable_output()) {
      if (output.name() == from) output.set_name(to);
    }
  });
}

void rename_tensor(onnx::GraphProto& graph, const std::string& from, const std::string& to) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) {
      if (output == from) output = to;
    }
  }
  rename_reads(graph, from, to);
}

void remove_nodes(onnx::GraphProto& graph, const std::function<bool(const onnx::NodeProto&)>& unwanted) {
  auto& nodes = *graph.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(), unwanted), nodes.end());
}

onnx::NodeProto node_of(const char* op_type, const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto node;
  node.set_op_type(op_type);
  node.set_name(output + "/" + op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

onnx::NodeProto cast_node(const std::string& input, const std::string& output, Dtype to) {
  onnx::NodeProto cast;
  cast.set_op_type("Cast");
  cast.set_name(output);
  cast.add_input(input);
  cast.add_output(output);
  set_attribute(cast, "to", static_cast<std::int64_t>(to));
  return cast;
}

void put_first(onnx::GraphProto& graph, onnx::NodeProto node) {
  *graph.add_node() = std::move(node);
  for (int i = graph.node_size() - 1; i > 0; --i) graph.mutable_node()->SwapElements(i, i - 1);
}

void replace_node(onnx::GraphProto& graph, int index, std::vector<onnx::NodeProto> replacement) {
  google::protobuf::RepeatedPtrField<onnx::NodeProto> nodes;
  nodes.Reserve(graph.node_size() + static_cast<int>(replacement.size()));
  for (int i = 0; i < graph.node_size(); ++i) {
    if (i != index) {
      nodes.Add()->Swap(graph.mutable_node(i));
      continue;
    }
    for (onnx::NodeProto& node : replacement) nodes.Add()->Swap(&node);
  }
  graph.mutable_node()->Swap(&nodes);
}

void replace_parameter(Model& model, onnx::GraphProto& graph, onnx::NodeProto& layer, int index, const Tensor& value,
                       const std::map<std::string, int>& readers) {
  const std::string old = index < layer.input_size() ? layer.input(index) : std::string();
  if (!old.empty() && readers.at(old) == 1) {
    set_initializer(model, *owner_of_initializer(model, old), old, value);
    return;
  }
  const std::string wanted = layer.name() + (index == 1 ? ".weight" : ".bias");
  const std::string fresh = NamePool(model).unique(old.empty() ? wanted : old);
  add_initializer(model, graph, fresh, value);
  while (layer.input_size() <= index) layer.add_input("");
  layer.set_input(index, fresh);
}

void remove_leftovers(Model& model) {
  model.index.reset();
  const std::map<std::string, int> readers = count_readers(model);
  std::set<std::string> produced;
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    auto& list = *graph.mutable_initializer();
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const onnx::TensorProto& tensor) {
                                if (readers.contains(tensor.name())) return false;
                                model.weights.erase(tensor.name());
                                return true;
                              }),
               list.end());
    for (const onnx::NodeProto& node : graph.node()) produced.insert(node.output().begin(), node.output().end());
  });
  for_each_graph(*model.proto.mutable_graph(), [&](onnx::GraphProto& graph) {
    auto& list = *graph.mutable_value_info();
    list.erase(std::remove_if(list.begin(), list.end(),
                              [&](const onnx::ValueInfoProto& value) { return !produced.contains(value.name()); }),
               list.end());
  });
}

Model cut(const Model& model, const std::vector<std::string>& wanted, const std::map<std::string, ValueType>& types) {
  Model piece = model;
  onnx::GraphProto& graph = *piece.proto.mutable_graph();
  std::set<std::string> needed(wanted.begin(), wanted.end());
  std::set<std::string> kept;
  // Nodes are sorted: one walk from the end sees every reader before its producer.
  for (int i = graph.node_size() - 1; i >= 0; --i) {
    const onnx::NodeProto& node = graph.node(i);
    if (std::none_of(node.output().begin(), node.output().end(),
                     [&](const std::string& output) { return needed.contains(output); })) {
      continue;
    }
    kept.insert(node.name());
    needed.merge(tensors_read(node));
  }
  remove_nodes(graph, [&](const onnx::NodeProto& node) { return !kept.contains(node.name()); });
  graph.clear_output();
  for (const std::string& name : wanted) {
    onnx::ValueInfoProto& output = *graph.add_output();
    output.set_name(name);
    const auto type = types.find(name);
    if (type != types.end()) {
      output.mutable_type()->mutable_tensor_type()->set_elem_type(static_cast<int>(type->second.dtype));
    }
  }
  remove_leftovers(piece);
  return piece;
}

void verify_structure(const Model& model, const std::string& step) {
  std::set<std::string> nodes;
  std::set<std::string> tensors;
  verify_graph(model.proto.graph(), {}, nodes, tensors, step);
}

}  // namespace vernier
