// Options of the commands that quantize by our rules, which only make sense together with others.
#pragma once

#include "vernier/precision.h"

namespace vernier::cli {

/// --reduce-range. Errors: Usage where no weight is stored in int8 for a CPU.
void apply_reduce_range(bool reduce_range, PrecisionOptions& precision);

/// --weight-bits. Errors: Usage for another number than 4 and 8, or 4 without activations in 16 bits.
void check_weight_bits(const PrecisionOptions& precision);

/// --quantize-residuals: adds Add to the operators to quantize. Errors: Usage where there is no pair that it could
/// mean.
void apply_residuals(bool residuals, PrecisionOptions& precision);

}  // namespace vernier::cli
