// Which nodes of a broken model are broken: each one alone in ONNX Runtime, on the values that the nodes before it
// gave.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/model.h"
#include "vernier/samples.h"

namespace vernier {

class Runtime;

struct NodeTrial {
  std::string node;
  std::string refusal;    // ONNX Runtime's text; empty: it ran
  bool unknown = false;   // refused because ONNX Runtime does not know the operator
  bool inferred = false;  // refused by its shape inference
};

/// Nodes of the main graph in the order in which their inputs exist. Nodes behind one that did not run, and those that
/// give no tensors, are left out. Cost: a session a node.
std::vector<NodeTrial> try_nodes_alone(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                                       const Sample& inputs);

}  // namespace vernier
