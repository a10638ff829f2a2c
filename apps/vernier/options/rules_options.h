// Options of the commands that quantize by our rules, which only make sense together with others.
#pragma once

#include "vernier/precision.h"

namespace vernier::cli {

/// --reduce-range. Errors: Usage where no weight is stored in int8 for a CPU.
void apply_reduce_range(bool reduce_range, PrecisionOptions& precision);

/// --quantize-residuals: adds Add to the operators to quantize. Errors: Usage where there is no pair that it could
/// mean.
void apply_residuals(bool residuals, PrecisionOptions& precision);

}  // namespace vernier::cli
