// Values of a file that are not finite, where no pair and no stored value explains them: a mask of -1e9 that became
// -inf in float16, and 0 times it.
#pragma once

#include <optional>
#include <vector>

#include "analysis/match_layers.h"
#include "numerics/metrics.h"
#include "vernier/report/debug_loss.h"

namespace vernier {

/// The first layer of `matches`, in the order of the graph, that gives values that are not finite where the float
/// model's are, as a defect of kind "not-finite"; with the constant in front of it that is not finite, if there is one.
/// `errors`: of the matches. nullopt: there is no such layer.
std::optional<FoundDefect> first_not_finite(const LayerMatches& matches, const std::vector<ErrorStats>& errors,
                                            const Model& simulated);

}  // namespace vernier
