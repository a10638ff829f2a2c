// The scale that a grid should have for values, where its own is far off: what a finding names as the cure.
#pragma once

#include "numerics/round.h"

namespace vernier {

/// With a zero point of 0, the scale of a grid that just reaches `smallest` and `largest`; else that of a grid from one
/// to the other, 0 included. `params` has one scale.
double fitting_scale(const QuantParams& params, double smallest, double largest);

}  // namespace vernier
