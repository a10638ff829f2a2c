// Stored constants that differ from the float model's, confirmed by data where quantizers change them on purpose.
#pragma once

#include <vector>

#include "analysis/match_layers.h"
#include "analysis/subject.h"
#include "jobs/verify/float_twins.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/report/defects.h"

namespace vernier {

/// find_other_values(), without equalized weights (doubt_weights()) and without corrected biases. A bias that
/// differs by less than a quarter of its energy is wrong if its layer keeps less than 25 dB on exact inputs, if half of
/// that error or more comes of the bias, and if outputs are no worse with the float model's values. `file`, `simulated`
/// and `weights` as for doubt_weights(), `matches` as for float_weights(). Cost: where biases differ, two
/// isolated comparisons over at most eight samples, and an inference for each of 16 biases.
std::vector<FoundDefect> find_wrong_constants(const Model& file, const Subject& subject, const SimulatedFile& simulated,
                                              const FloatWeights& weights, const LayerMatches& matches);

}  // namespace vernier
