// --save-heatmaps and its kin: pictures of what differs between two runs.
#pragma once

#include <cstddef>

#include "vernier/comparison.h"
#include "vernier/report/run.h"
#include "vernier/run.h"
#include "vernier/runs.h"

namespace vernier {

/// True when any was asked for.
bool wants_pictures(const RunOptions& options);

/// Draws the outputs of one comparison: files DIR/OUTPUT.pair0.iteration0.svg, and events. Outputs that were not
/// compared have none. Errors: Input when a file cannot be written.
void draw_errors(const RunOptions& options, std::size_t pair, const IterationComparison& comparison,
                 const Iteration& got, const Iteration& ref, const RunEvents& events);

}  // namespace vernier
