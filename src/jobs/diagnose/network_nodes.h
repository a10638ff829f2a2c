// The network as boxes and arrows, for pages that draw it.
#pragma once

#include <vector>

#include "model/layers.h"
#include "model/model.h"
#include "vernier/report/pictures.h"

namespace vernier {

/// The layers of the main graph in graph order, each with those that its data comes from. Arrows pass through nodes
/// that are no layers: casts, quantizers, and nodes with bodies. Cost: linear in nodes and arrows.
std::vector<NetworkNode> network_nodes(const Model& model, const std::vector<Layer>& layers);

}  // namespace vernier
