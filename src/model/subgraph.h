// Parts of a model as models of their own: what `surgeon extract` and `debug reduce` cut out.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/tensor.h"

namespace vernier {

/// Nodes of the main graph, by index, that `outputs` need when walking back stops at `inputs`; ascending.
std::vector<int> nodes_between(const Model& model, const std::set<std::string>& inputs,
                               const std::set<std::string>& outputs);

/// Tensors of the main graph that `nodes` (ascending) read, bodies included, and neither they nor initializers make;
/// in the order of the graph's inputs, then of the nodes that make them.
std::vector<std::string> boundary(const Model& model, const std::vector<int>& nodes);

/// Tensors that `nodes` make and that are read outside of them, are graph outputs, or are read by nobody; in order.
std::vector<std::string> results(const Model& model, const std::vector<int>& nodes);

/// `nodes` (ascending) as a model: its inputs are their boundary less `frozen`, which become initializers; its outputs
/// are `outputs`. Only what is read comes along. Types are those of `types` (type_protos.h); graph inputs and outputs
/// that were such before keep what the file says of them.
/// Errors: Input when an input's type is not known.
Model piece_of(const Model& model, const std::vector<int>& nodes, const std::vector<std::string>& outputs,
               const std::map<std::string, onnx::TypeProto>& types, const std::map<std::string, Tensor>& frozen = {});

}  // namespace vernier
