// What pairs lose on the values that the float model itself has there, whatever the file computes in front of them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "analysis/quantizer_loss.h"
#include "analysis/subject.h"
#include "analysis/surgery.h"
#include "numerics/metrics.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// Puts these losses in the place of those in `grids`, in the order of `file.quantized`, where a pair reads what a
/// match compares and the layer in front of it is right: its error in `exact`, on exact inputs, is small. A file that
/// scales its activations keeps the losses of its own values. Cost: one run of all samples, none where no pair is
/// matched.
void measure_on_float_model(const Subject& subject, const SimulatedFile& file, const std::vector<Match>& matches,
                            const std::vector<std::optional<ErrorStats>>& exact,
                            const std::map<std::string, Bounds>& activations, std::vector<GridLoss>& grids);

}  // namespace vernier
