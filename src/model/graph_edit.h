// The few graph operations that every rewrite needs: who reads a tensor, redirect its readers, drop nodes. Tensor names
// are unique over a model and its subgraphs (read_model sees to it), so a name alone says which tensor is meant.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// How often each tensor is read: by nodes of any graph, and once for each graph output that bears its name.
std::map<std::string, int> count_readers(const Model& model);

/// Names of the outputs of the main graph and of all bodies.
std::set<std::string> all_graph_outputs(const Model& model);

/// Names of the initializers of all graphs, dense ones only.
std::set<std::string> initializer_names(const Model& model);

/// The graph whose initializer bears that name; null when there is none.
onnx::GraphProto* owner_of_initializer(Model& model, const std::string& name);

/// The node of that name in `graph` or its bodies; null when there is none. Node names are unique over all graphs.
const onnx::NodeProto* find_node(const onnx::GraphProto& graph, const std::string& name);
onnx::NodeProto* find_node(onnx::GraphProto& graph, const std::string& name);

/// All nodes of `graph` and its bodies by name, for whoever asks for many: find_node takes time in their number.
std::map<std::string, const onnx::NodeProto*> nodes_by_name(const onnx::GraphProto& graph);

/// Lets all readers of `from` in `graph` and its bodies read `to`, body outputs included.
void rename_reads(onnx::GraphProto& graph, const std::string& from, const std::string& to);

/// Renames a tensor that a node of `graph` makes, for its maker and all its readers; outputs of the graph keep theirs.
void rename_tensor(onnx::GraphProto& graph, const std::string& from, const std::string& to);

/// Removes the nodes for which `unwanted` holds; the others keep their order.
void remove_nodes(onnx::GraphProto& graph, const std::function<bool(const onnx::NodeProto&)>& unwanted);

/// An operator of ONNX without attributes, called `output`/`op_type`.
onnx::NodeProto node_of(const char* op_type, const std::vector<std::string>& inputs, const std::string& output);

/// A Cast of `input` to `to`; `output` is its name too.
onnx::NodeProto cast_node(const std::string& input, const std::string& output, Dtype to);

/// Puts `node` before all others.
void put_first(onnx::GraphProto& graph, onnx::NodeProto node);

/// Puts `replacement` in the place of node `index`.
void replace_node(onnx::GraphProto& graph, int index, std::vector<onnx::NodeProto> replacement);

/// Gives input `index` of `layer`, its weight or its bias, the value: under the old name if nothing else reads it, else
/// under a new one. `readers` as count_readers() counts them.
void replace_parameter(Model& model, onnx::GraphProto& graph, onnx::NodeProto& layer, int index, const Tensor& value,
                       const std::map<std::string, int>& readers);

/// Removes initializers that nothing reads, and annotations of tensors that no longer exist.
void remove_leftovers(Model& model);

/// A copy whose outputs are `wanted` (tensors of the main graph) and whose main graph holds only what they need. Inputs
/// stay as they are, so that the same samples fit.
Model cut(const Model& model, const std::vector<std::string>& wanted, const std::map<std::string, ValueType>& types);

/// Asserts our own rewrites: each read tensor is produced before, no tensor twice, node names unique.
/// Errors: Internal, naming step, node and tensor.
void verify_structure(const Model& model, const std::string& step);

/// Calls `visit` for the bodies directly inside `node`.
void for_each_body(const onnx::NodeProto& node, const std::function<void(const onnx::GraphProto&)>& visit);
/// True for If, Loop, Scan and whatever else holds a graph.
bool has_body(const onnx::NodeProto& node);

}  // namespace vernier
