// A ladder of formats, from what was asked for to what the steps of a diagnosis read.
#pragma once

#include "vernier/diagnose.h"

namespace vernier {

/// With a SearchOptions::ladder: its rungs become the low formats and the high one, and no alternatives are measured.
/// Without one nothing changes. Errors: Usage for a ladder that is none, and for what a search on one cannot do.
void apply_ladder(DiagnoseOptions& options);

}  // namespace vernier
