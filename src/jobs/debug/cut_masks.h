// Masks that a file cuts off: they hide scores from a Softmax, and their largest values mean nothing.
#pragma once

#include <cstddef>

#include "analysis/quantizer_loss.h"
#include "jobs/verify/exact_network.h"
#include "model/model.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// Whether a pair reads a mask, or stores one. `loss`: of its activation.
bool cuts_off_mask(const QuantizedTensor& pair, const GridLoss& loss, const FloatValues& values);

/// The file with the masks of its float model, and without the pair that cuts them off.
Model without_cut_masks(const SimulatedFile& file, const FloatValues& values, std::size_t pair);

}  // namespace vernier
