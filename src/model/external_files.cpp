#include "model/external_files.h"

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "model/raw_proto.h"
#include "vernier/error.h"

namespace vernier {
namespace {

void add_location(const onnx::TensorProto& tensor, std::set<std::string>& locations) {
  for (const onnx::StringStringEntryProto& entry : tensor.external_data()) {
    if (entry.key() == "location") locations.insert(entry.value());
  }
}

void add_locations(const onnx::NodeProto& node, std::set<std::string>& locations) {
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    add_location(attribute.t(), locations);
    for (const onnx::TensorProto& tensor : attribute.tensors()) add_location(tensor, locations);
  }
}

}  // namespace

std::vector<std::filesystem::path> external_files(const std::filesystem::path& path) {
  std::set<std::string> locations;
  try {
    const onnx::ModelProto proto = read_raw_proto(path);
    for_each_graph(proto.graph(), [&](const onnx::GraphProto& graph) {
      for (const onnx::TensorProto& tensor : graph.initializer()) add_location(tensor, locations);
      for (const onnx::NodeProto& node : graph.node()) add_locations(node, locations);
    });
    for (const onnx::FunctionProto& function : proto.functions()) {
      for (const onnx::NodeProto& node : function.node()) add_locations(node, locations);
    }
  } catch (const Error&) {
    return {};
  }
  std::vector<std::filesystem::path> files;
  for (const std::string& location : locations) files.push_back(path.parent_path() / location);
  return files;
}

}  // namespace vernier
