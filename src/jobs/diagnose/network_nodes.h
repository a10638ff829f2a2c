// The network as boxes and arrows, for pages that draw it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model/model.h"
#include "vernier/report/pictures.h"
#include "vernier/tensor.h"

namespace vernier {

/// The layers of the main graph in graph order, each with those that its data comes from. Arrows pass through nodes
/// that are no layers: casts, quantizers, and nodes with bodies. `shapes`: of tensors, as a run saw them. Cost: linear
/// in nodes and arrows.
std::vector<NetworkNode> network_nodes(const Model& model, const std::vector<Layer>& layers,
                                       const std::map<std::string, Shape>& shapes);

}  // namespace vernier
