// "Someone gave me a quantized model": one command, one verdict.
#pragma once

#include "vernier/export.h"
#include "vernier/report/verify.h"
#include "vernier/sinks.h"
#include "vernier/verify.h"

namespace vernier {

/// What is wrong with the Q/DQ pairs of `options.typed_model`, which verify() measured for `report`, and what engines
/// make of them: `report.verdict`. The pairs are measured where the requirement is missed, or where there is none, on
/// at most 32 samples; what the file alone shows is always looked at. A file without pairs gets no verdict. What cannot
/// be looked at is a note, never an error: the figures stand. Cost: of debug_loss() on those samples, and of
/// check_placement() for each target.
VERNIER_API void explain_file(const VerifyOptions& options, VerifyReport& report, const JobSinks& sinks = {});

}  // namespace vernier
