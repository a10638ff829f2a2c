// Float constants behind dequantized ones that no pair of matched layers shows: those of Mul, Add and normalizations.
#pragma once

#include "jobs/verify/float_twins.h"
#include "model/model.h"
#include "plan/simulate_typed.h"

namespace vernier {

/// Adds to `weights` the twins of constants that layers without a weight read in `simulated`, where float_weights()
/// found none: a layer that the file writes as another operator, or one that is constant in the float model. The twin
/// has the name that a quantizer makes the other's of, or it is the only constant whose values go up and down with
/// those. `float_model`: as it was read. Cost: linear in both models, and in products of such constants of one size.
void add_constant_twins(const Model& float_model, const SimulatedFile& simulated, FloatWeights& weights);

}  // namespace vernier
