// Pairs that do the work of a limit which the file does not write: the clamp of a Relu6 or a HardSigmoid is where the
// range of quantized values ends.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "jobs/verify/exact_network.h"
#include "numerics/metrics.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// Finds pairs whose clipping explains a mismatch: a layer that differs from the float model without roundings, but
/// agrees once the pair clips. Adds them to `values.activations`. Those that stand for a `dropped` activation have its
/// limits, or are wrong. `exact`: for each match the error without roundings. Returns whether any was added. Cost:
/// nothing if all layers agree; else isolated_errors() for up to four pairs of a layer.
bool add_implied_clamps(const Subject& subject, const SimulatedFile& file, const std::vector<Match>& matches,
                        const std::vector<std::optional<ErrorStats>>& exact,
                        const std::map<std::string, Bounds>& dropped, FloatValues& values);

}  // namespace vernier
