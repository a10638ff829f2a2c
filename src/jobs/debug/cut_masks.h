// Masks that a file cuts off: they hide scores from a Softmax, and their largest values mean nothing.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "analysis/quantizer_loss.h"
#include "analysis/subject.h"
#include "jobs/verify/exact_network.h"
#include "jobs/verify/output_noise.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// By their places in `file.quantized`: pairs that cut off a mask, or store one cut off, while the outputs need no more
/// of it: most of their noise is there without the cut too. `grids`: the pairs' losses, in the same order. Cost: a run
/// for each pair that cuts off a mask, and one more; none without such pairs.
std::set<std::size_t> harmless_mask_cuts(const SimulatedFile& file, const FloatValues& values,
                                         const std::vector<GridLoss>& grids, OutputNoise& noise);

/// Puts the losses without the values of masks in the place of those in `grids` for `pairs`; none of pairs with several
/// scales. `exact`: the file's model with float values everywhere. Cost: one run, none without pairs.
void leave_out_masks(const Subject& subject, const SimulatedFile& file, const Model& exact,
                     const std::set<std::size_t>& pairs, std::vector<GridLoss>& grids);

}  // namespace vernier
