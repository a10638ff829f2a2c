// Stable unique names (docs/contract.md, 3), given once when a model is read.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <utility>
#include <vector>

namespace vernier {

/// Unnamed nodes become `<Op>_<index>`, the index counting all nodes in file order (a node, then its bodies); duplicate
/// node names get `#2`, `#3`. Tensors of different subgraphs that share a name are told apart the same way.
/// Returns tensors with a new name, and that name.
std::vector<std::pair<std::string, std::string>> fix_names(onnx::ModelProto& proto);

/// Each name that several nodes of one graph have, the main graph or a body.
std::vector<std::string> names_of_several_nodes(const onnx::ModelProto& proto);

}  // namespace vernier
