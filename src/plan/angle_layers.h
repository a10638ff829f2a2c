// Layers that make angles of positions: rotary embeddings, time steps. Their angles grow with positions that samples
// may not have, and a narrow float loses whole turns of them.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/layers.h"
#include "model/model.h"

namespace vernier {

/// Those of the main graph from positions up to the Sin or Cos, both included. Positions are integers, or a float input
/// of the graph, scaled and moved by constants; what tells angles from other values is their product with a constant of
/// several frequencies, each position with each.
std::set<std::string> angle_layers(const Model& model, const std::vector<Layer>& layers,
                                   const std::map<std::string, ValueType>& types);

}  // namespace vernier
