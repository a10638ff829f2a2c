// A file beside its float model, and what was found of both.
#pragma once

#include <set>
#include <string>

#include "analysis/match_layers.h"
#include "jobs/verify/float_twins.h"
#include "model/model.h"
#include "plan/simulate_typed.h"

namespace vernier {

struct Examined {
  const Model& original;
  const Model& normalized;  // as normalized_pairs() gives it
  const SimulatedFile& simulated;
  const FloatWeights& weights;
  const LayerMatches& matches;
  const std::set<std::string>& equalized;  // nodes of weights whose factors undo each other
};

}  // namespace vernier
