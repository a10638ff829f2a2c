// In which format a typed file computes each layer of its float model, and how that compares.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "analysis/lockstep.h"
#include "analysis/match_layers.h"
#include "analysis/subject.h"
#include "numerics/metrics.h"
#include "plan/simulate_typed.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"

namespace vernier {

/// By matched layer, as the node that makes its tensor computes it, if that has the same operator; else as the node of
/// its name does, else as any node that makes its tensor.
std::map<const Layer*, Format> formats_of(const SimulatedFile& simulated, const LayerMatches& matches);

/// By pair of `matches`, the power of two by which the file scales it in a half format: a repair keeps what would
/// overflow so, and undoes it behind. Only where a matched tensor behind shows that it is undone, and never of an
/// output. `errors`: in lock-step.
std::vector<std::optional<double>> stored_times(const SimulatedFile& simulated, const LayerMatches& matches,
                                                const std::map<const Layer*, Format>& formats,
                                                const std::vector<ErrorStats>& errors);

/// A row for each layer that was compared, in graph order. `measured`: by lockstep(), of the pairs of `matches`.
std::vector<LayerRow> rows_of_layers(const Subject& subject, const SimulatedFile& simulated,
                                     const LayerMatches& matches, const Lockstep& measured);

}  // namespace vernier
