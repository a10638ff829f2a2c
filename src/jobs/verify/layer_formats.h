// In which format a typed file computes each layer of its float model.
#pragma once

#include <map>

#include "analysis/match_layers.h"
#include "plan/simulate_typed.h"
#include "vernier/format.h"

namespace vernier {

/// By matched layer, by the node of its name, else the one that makes its tensor. Absent: there is none.
std::map<const Layer*, Format> formats_of(const SimulatedFile& simulated, const LayerMatches& matches);

}  // namespace vernier
