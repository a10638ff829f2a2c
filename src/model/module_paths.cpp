#include "model/module_paths.h"

#include <algorithm>
#include <cstddef>
#include <optional>

#include "base/text.h"
#include "model/notes.h"

namespace vernier {
namespace {

constexpr const char* kScopes = "pkg.torch.onnx.name_scopes";

/// The texts of a Python list as repr() writes it: "['', 'model', \"it's\"]".
std::vector<std::string> texts_of(const std::string& list) {
  std::vector<std::string> texts;
  std::optional<std::string> text;
  char quote = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const char c = list[i];
    if (!text) {
      if (c != '\'' && c != '"') continue;
      quote = c;
      text.emplace();
    } else if (c == quote) {
      texts.push_back(*text);
      text.reset();
    } else {
      if (c == '\\' && i + 1 < list.size()) ++i;
      *text += list[i];
    }
  }
  return texts;
}

/// The scopes go from the outermost module, which has no name, to the node itself.
std::string path_in(const std::string& scopes) {
  std::vector<std::string> names = texts_of(scopes);
  if (!names.empty()) names.pop_back();
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names.empty() ? "" : names.back();
}

}  // namespace

std::map<std::string, std::string> module_paths(const Model& model) {
  std::map<std::string, std::string> paths;
  const auto learn = [&](const std::string& node, const ModelNotes::Metadata& metadata) {
    for (const onnx::StringStringEntryProto& entry : metadata) {
      if (entry.key() != kScopes) continue;
      if (std::string path = path_in(entry.value()); !path.empty()) paths.emplace(node, std::move(path));
    }
  };
  for_each_graph(model.proto.graph(), [&](const onnx::GraphProto& graph) {
    for (const onnx::NodeProto& node : graph.node()) {
      learn(node.name(), node.metadata_props());
      if (!model.notes) continue;
      const auto note = model.notes->nodes.find(node.name());
      if (note != model.notes->nodes.end()) learn(node.name(), note->second.metadata);
    }
  });
  return paths;
}

std::vector<std::string> nodes_of_module(const std::map<std::string, std::string>& paths, const std::string& text) {
  std::vector<std::string> nodes;
  for (const auto& [node, path] : paths) {
    if (path == text || path.starts_with(text + ".") || wildcard_match(text, path)) nodes.push_back(node);
  }
  return nodes;
}

}  // namespace vernier
