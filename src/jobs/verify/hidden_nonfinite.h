// NaN and infinities that no output shows: an integer quantizer or a selection behind them hides them.
#pragma once

#include <optional>

#include "analysis/subject.h"
#include "model/model.h"
#include "vernier/report/figures.h"
#include "vernier/report/verify.h"

namespace vernier {

/// Layers of `report` with such values, else FP8 pairs of `typed` that do not saturate and make them. Absent where an
/// output has them. Cost: a run of all samples if there are such pairs.
std::optional<HiddenNonfinite> hidden_nonfinite(const VerifyReport& report, const Subject& subject, const Model& typed,
                                                const Model& simulated);

}  // namespace vernier
