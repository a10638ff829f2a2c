// What a file with uint8 data and int8 weights gives in ONNX Runtime on an x86 CPU without VNNI
// (plan/saturating_pairs.h).
#pragma once

#include <optional>
#include <string>

#include "analysis/output_store.h"
#include "analysis/subject.h"
#include "plan/simulate_typed.h"
#include "vernier/report/figures.h"
#include "vernier/requirement.h"

namespace vernier {

/// Of `file`, brought beside the subject's model, over all samples. nullopt: no pair of products saturates on them.
/// `known`: as of figures_of_file(). Cost: nothing where no weight is large enough; else two plain runs, of `file`
/// alone where outputs are known, and the pairs that may saturate.
std::optional<SaturatedPairs> measure_saturated_pairs(const Subject& subject, const SimulatedFile& file,
                                                      const Requirement* requirement,
                                                      const OutputStore* known = nullptr);

/// The warning: which layer, how many pairs, and both figures. `exact`: those without saturation.
std::string saturation_text(const SaturatedPairs& found, const RunFigures& exact,
                            const std::optional<Requirement>& requirement);

}  // namespace vernier
