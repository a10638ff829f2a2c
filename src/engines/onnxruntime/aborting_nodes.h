// Nodes that end the process inside of ONNX Runtime, instead of failing.
#pragma once

#include "model/model.h"

namespace vernier {

/// Refuses random numbers of an empty distribution: ONNX Runtime 1.31 is built with assertions of the C++ library, and
/// RandomNormal with a scale of 0 or less, or RandomUniform with `high` below `low`, aborts.
/// Errors: Backend, naming the node.
void refuse_aborting_nodes(const Model& model);

}  // namespace vernier
