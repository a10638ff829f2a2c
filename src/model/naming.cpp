#include "model/naming.h"

#include <fmt/format.h>

#include <map>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "model/model.h"

namespace vernier {
namespace {

using Renames = std::map<std::string, std::string>;
using AllRenames = std::vector<std::pair<std::string, std::string>>;

using Names = std::unordered_set<std::string>;
/// Names that are taken, and for each the last number put behind it: a file may give all its nodes one name.
using Taken = std::unordered_map<std::string, int>;

std::string first_free(const std::string& wanted, Taken& taken) {
  if (taken.try_emplace(wanted, 1).second) return wanted;
  for (int i = taken.at(wanted) + 1;; ++i) {
    std::string candidate = fmt::format("{}#{}", wanted, i);
    if (!taken.try_emplace(candidate, 1).second) continue;
    taken.at(wanted) = i;
    return candidate;
  }
}

void collect_node_names(const onnx::GraphProto& graph, Names& given) {
  for (const onnx::NodeProto& node : graph.node()) {
    if (!node.name().empty()) given.insert(node.name());
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (attribute.has_g()) collect_node_names(attribute.g(), given);
    }
  }
}

void name_nodes(onnx::GraphProto& graph, int& index, const Names& given, Taken& taken) {
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    const int own = index++;
    if (node.name().empty()) {
      // A made-up name never takes a name that the file gives to another node.
      std::string wanted = fmt::format("{}_{}", node.op_type(), own);
      while (given.contains(wanted)) wanted += "#2";
      node.set_name(first_free(wanted, taken));
    } else {
      node.set_name(first_free(node.name(), taken));
    }
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) name_nodes(*attribute.mutable_g(), index, given, taken);
    }
  }
}

std::string renamed(const std::string& name, const Renames& renames) {
  const auto found = renames.find(name);
  return found == renames.end() ? name : found->second;
}

void name_tensors(onnx::GraphProto& graph, Renames renames, bool main, Taken& taken, AllRenames& all) {
  const auto define = [&](const std::string& name) {
    if (name.empty()) return name;
    std::string fresh = main ? (taken.try_emplace(name, 1), name) : first_free(name, taken);
    if (fresh != name) {
      renames[name] = fresh;
      all.emplace_back(name, fresh);
    }
    return fresh;
  };
  for (onnx::ValueInfoProto& value : *graph.mutable_input()) value.set_name(define(value.name()));
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    const bool is_input = main && taken.contains(tensor.name());  // IR version 3 lists initializers as inputs too
    if (!is_input) tensor.set_name(define(tensor.name()));
  }
  // All outputs first: an unsorted body may read a tensor before the node that makes it.
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& output : *node.mutable_output()) output = define(output);
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) {
    for (std::string& input : *node.mutable_input()) input = renamed(input, renames);
    for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
      if (attribute.has_g()) name_tensors(*attribute.mutable_g(), renames, /*main=*/false, taken, all);
    }
  }
  for (onnx::ValueInfoProto& value : *graph.mutable_output()) value.set_name(renamed(value.name(), renames));
  for (onnx::ValueInfoProto& value : *graph.mutable_value_info()) value.set_name(renamed(value.name(), renames));
}

}  // namespace

std::vector<std::pair<std::string, std::string>> fix_names(onnx::ModelProto& proto) {
  onnx::GraphProto& graph = *proto.mutable_graph();
  Names given;
  collect_node_names(graph, given);
  Taken taken;
  int index = 0;
  name_nodes(graph, index, given, taken);
  Taken tensors;
  AllRenames renamed;
  name_tensors(graph, {}, /*main=*/true, tensors, renamed);
  return renamed;
}

std::vector<std::string> names_of_several_nodes(const onnx::ModelProto& proto) {
  std::vector<std::string> repeated;
  for_each_graph(proto.graph(), [&](const onnx::GraphProto& graph) {
    std::map<std::string, int> counts;
    for (const onnx::NodeProto& node : graph.node()) {
      if (!node.name().empty() && ++counts[node.name()] == 2) repeated.push_back(node.name());
    }
  });
  return repeated;
}

}  // namespace vernier
