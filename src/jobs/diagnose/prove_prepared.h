// Whether preparing the float model changed what it computes.
#pragma once

#include "jobs/common/load.h"
#include "vernier/report/figures.h"

namespace vernier {

/// Runs the original file and the prepared model on the first sample, optimizations off, and says how they differ.
RunFigures prove_prepared(const Loaded& loaded);

}  // namespace vernier
