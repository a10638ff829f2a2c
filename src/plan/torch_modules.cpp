#include "plan/torch_modules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>
#include <utility>

#include "base/text.h"
#include "model/graph_edit.h"
#include "model/graph_walk.h"
#include "model/module_paths.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr std::string_view kWeight = ".weight";

/// The initializer behind Transposes and the like; empty: the tensor is computed.
std::string constant_behind(const GraphWalk& walk, const Model& model, std::string tensor) {
  while (const onnx::NodeProto* maker = walk.maker(tensor)) {
    if (!is_onnx(*maker, "Transpose") && !is_onnx(*maker, "Identity")) return {};
    tensor = maker->input(0);
  }
  return is_initializer(model, tensor) ? tensor : std::string();
}

/// "/layer1/layer1.0/conv/Conv", as the older exporter names a node -> "layer1.0.conv". A part that goes on with the
/// one in front has it in it.
std::string path_in_name(const std::string& name) {
  if (!name.starts_with('/')) return {};
  std::vector<std::string> parts;
  for (std::size_t from = 1, end = 0; (end = name.find('/', from)) != std::string::npos; from = end + 1) {
    std::string part = name.substr(from, end - from);
    if (!parts.empty() && part.starts_with(parts.back() + ".")) parts.pop_back();
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "."));
}

bool has_weight(const Layer& layer) { return layer.weighted || layer.op_type == "Gather"; }

}  // namespace

TorchModules torch_modules(const Model& original, const std::vector<Layer>& layers) {
  TorchModules found;
  const GraphWalk walk(original);
  const std::map<std::string, const onnx::NodeProto*> nodes = nodes_by_name(original.proto.graph());
  const std::map<std::string, std::string> paths = module_paths(original);
  std::map<std::string, std::set<std::string>> weights;  // of each module
  for (const Layer& layer : layers) {
    if (!has_weight(layer)) continue;
    const auto node = nodes.find(layer.name);
    const int input = layer.op_type == "Gather" ? 0 : 1;
    if (node == nodes.end() || node->second->input_size() <= input) continue;
    const std::string weight = constant_behind(walk, original, node->second->input(input));
    if (weight.empty()) {
      if (layer.weighted) found.why_not[layer.name] = "it has no weight";
      continue;
    }
    const auto path = paths.find(layer.name);
    std::string module;
    if (weight.ends_with(kWeight)) {
      module = weight.substr(0, weight.size() - kWeight.size());
    } else if (weight.find('.') == std::string::npos) {
      module = path != paths.end() ? path->second : path_in_name(layer.name);
    }
    if (module.empty()) {
      found.why_not[layer.name] = fmt::format("its weight '{}' is not the weight of a module", printable(weight));
      continue;
    }
    weights[module].insert(weight);
    found.paths[layer.name] = std::move(module);
  }
  std::erase_if(found.paths, [&](const auto& entry) {
    if (weights[entry.second].size() == 1) return false;
    found.why_not[entry.first] = fmt::format("module '{}' has several weights", printable(entry.second));
    return true;
  });
  return found;
}

}  // namespace vernier
