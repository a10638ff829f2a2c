// How much the rounding of float32 changes a network's outputs: what an exact rewrite may change, and no more.
// Monte Carlo arithmetic (D. S. Parker, 1997): each result of the float model is multiplied by a random number between
// 1 - 2^-23 and 1 + 2^-23, as another order of its sums might.
#pragma once

#include "model/model.h"

namespace vernier {

/// The model with such a factor behind each node of the main graph that computes float32, as far as types are known.
/// The same model gets the same numbers.
Model with_rounding_noise(const Model& model);

}  // namespace vernier
