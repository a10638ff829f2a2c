// Values of a file that are not finite, where no wrong operator and no stored value explains them: a mask of -1e9 that
// became -inf in float16, and 0 times it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "model/model.h"
#include "numerics/metrics.h"
#include "plan/simulate_typed.h"
#include "vernier/report/debug_loss.h"

namespace vernier {

/// The first layer of `matches`, in the order of the graph, that gives values that are not finite where the float
/// model's are, as a defect of kind "not-finite"; with the constant in front of it that is not finite, if there is one.
/// `errors`: of the matches. nullopt: there is no such layer.
struct NotFinite {
  FoundDefect defect;
  std::string tensor;  // of the file, which the layer makes
};
std::optional<NotFinite> first_not_finite(const LayerMatches& matches, const std::vector<ErrorStats>& errors,
                                          const Model& simulated);

/// Whether one of `defects` in front of it may have made it: a wrong constant, scale or operator. What rounds much is
/// another finding. `given`: the file, normalized.
bool is_explained(const NotFinite& found, const std::vector<FoundDefect>& defects, const Model& given,
                  const SimulatedFile& file);

}  // namespace vernier
