// Whether a network is seen to treat the samples of a batch as one thing: what its graph says, before anything runs.
#pragma once

#include <string>

#include "model/model.h"

namespace vernier {

/// Why samples cannot be put together along the first dimension of all inputs, in words; empty: nothing speaks against
/// it. An input or output whose first dimension is fixed or absent, or inputs that name it differently; an operator
/// that depends on values of all samples at once (DynamicQuantizeLinear, NonZero, a body of Loop or If), gives other
/// values every time, or reduces, sorts, joins or reshapes the first dimension, as far as its attributes and constants
/// say so. An empty answer proves nothing: values may still meet (a MatMul of a transposed tensor).
std::string works_across_samples(const Model& model);

}  // namespace vernier
