// --reduce-range, of the commands that quantize by our rules.
#pragma once

#include "options/syntax.h"
#include "vernier/precision.h"

namespace vernier::cli {

void add_reduce_range_option(CLI::App& app, bool& reduce_range, const char* group);

/// Errors: Usage where no weight is stored in int8 for a CPU.
void apply_reduce_range(bool reduce_range, PrecisionOptions& precision);

}  // namespace vernier::cli
