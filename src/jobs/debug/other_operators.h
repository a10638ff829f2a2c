// Layers that a quantized file computes differently from its float model, whatever its pairs do: an operator that is
// lost, another attribute, another float constant.
#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "analysis/subject.h"
#include "jobs/verify/float_twins.h"
#include "numerics/metrics.h"
#include "plan/simulate_typed.h"
#include "vernier/report/defects.h"

namespace vernier {

struct OtherOperators {
  std::vector<FoundDefect> defects;  // of kind "other-operator"
  std::set<std::string> layers;      // tensors of the file that such a layer makes
  std::set<std::string> behind;      // these, and all that depend on them
};

/// `exact`: for each match the error of its layer on exact inputs, in a file without roundings and with float weights
/// (exact_network.h). A layer that keeps less than 30 dB there computes something else; the nodes of both files between
/// matched tensors are compared to name what. `skipped`: tensors of the file whose values are scaled on purpose, by the
/// constant that a layer reads. With `outputs_agree` other float constants are no finding. A layer whose difference is
/// not found is not named.
OtherOperators find_other_operators(const Subject& subject, const SimulatedFile& file, const FloatWeights& weights,
                                    const LayerMatches& matches, const std::vector<std::optional<ErrorStats>>& exact,
                                    const std::set<std::string>& skipped, bool outputs_agree);

}  // namespace vernier
