// --quantize-residuals, of the commands that place Q/DQ pairs by our rules.
#pragma once

#include "options/syntax.h"
#include "vernier/precision.h"

namespace vernier::cli {

void add_residuals_option(CLI::App& app, bool& residuals, const char* group);

/// Adds Add to the operators to quantize. Errors: Usage where there is no pair that it could mean.
void apply_residuals(bool residuals, PrecisionOptions& precision);

}  // namespace vernier::cli
