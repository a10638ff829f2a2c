// Which torch module a node comes from. The exporter names nodes node_MatMul_875 and keeps the path of the module in
// the node's metadata.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

/// By node, bodies included: "model.layers.0.self_attn.q_proj", from `pkg.torch.onnx.name_scopes`. Nodes that stand in
/// the outermost module, and those without that entry, are left out.
std::map<std::string, std::string> module_paths(const Model& model);

/// The nodes of the modules that `text` names: one path, with all modules inside it, or a shell wildcard.
std::vector<std::string> nodes_of_module(const std::map<std::string, std::string>& paths, const std::string& text);

}  // namespace vernier
