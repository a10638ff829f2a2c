// Error of a tensor that is rounded on the way, in one pass over it.
#pragma once

#include <span>

#include "numerics/metrics.h"
#include "numerics/round.h"

namespace vernier {

/// Folds ref [n] against got [n] rounded to the grid of `params`, which has no scale, into `errors`, and counts what
/// the rounding did into `events` unless that is null. Sums and counts are, bit for bit, those of round_to_counting()
/// and accumulate_error() one after the other. Memory: a block. Errors: Internal when sizes differ.
void accumulate_error_of_rounded(std::span<const float> ref, std::span<const float> got, const QuantParams& params,
                                 ErrorStats& errors, RoundEvents* events);

}  // namespace vernier
