// Nodes that accept or refuse every input of the model alike: sizes are known, and indices and shapes are constants.
#pragma once

#include <memory>
#include <set>
#include <string>

#include "engines/onnxruntime/runtime.h"
#include "model/model.h"

namespace vernier {

/// Names of nodes of the main graph, with ONNX operators without bodies. All their inputs have static shapes, and those
/// that are not data (indices, axes, shapes) are constants. If such a node fails on one sample, it fails on each.
/// Cost: that of static_types().
std::set<std::string> nodes_of_fixed_inputs(const Model& model, const std::shared_ptr<const Runtime>& runtime);

}  // namespace vernier
