#include "model/external_files.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/mapped_file.h"
#include "base/text.h"
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

/// False where no tensor of the file can be in another one. To look for the key takes a fraction of parsing the file.
bool may_have_external_data(const std::filesystem::path& path) {
  const std::shared_ptr<const MappedFile> file = MappedFile::open(path);
  const std::string_view text(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  return text.find("location") != std::string_view::npos;
}

}  // namespace

std::vector<std::filesystem::path> external_files(const std::filesystem::path& path) {
  std::set<std::string> locations;
  try {
    if (!may_have_external_data(path)) return {};
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

void refuse_data_of_others(const std::filesystem::path& path, const std::string& name) {
  const std::filesystem::path data = path.parent_path() / name;
  std::error_code ignored;
  if (name.starts_with(path.filename().string() + ".") || !std::filesystem::exists(data, ignored)) return;
  if (std::filesystem::is_regular_file(data, ignored) && std::filesystem::file_size(data, ignored) == 0) return;
  for (const std::filesystem::path& own : external_files(path)) {
    if (std::filesystem::equivalent(own, data, ignored)) return;
  }
  throw Error(ErrorCode::WouldOverwrite,
              fmt::format("‹save-external-data› {}: {} exists, and no model at {} reads it: another model may",
                          printable(name), printable(data.string()), printable(path.string())),
              "choose another name, or remove the file first");
}

}  // namespace vernier
