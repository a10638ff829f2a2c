// Counting multiply-accumulates where the node is known already; layers.h looks it up by name.
#pragma once

#include <map>
#include <string>

#include "model/layers.h"

namespace vernier {

/// As multiply_accumulates() of layers.h, of the layer that `node` is.
std::int64_t multiply_accumulates(const Model& model, const Layer& layer, const onnx::NodeProto& node,
                                  const std::map<std::string, Shape>& shapes);

}  // namespace vernier
