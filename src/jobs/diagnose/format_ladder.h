// A ladder of formats, from what was asked for to what the steps of a diagnosis read.
#pragma once

#include <vector>

#include "plan/plan.h"
#include "vernier/diagnose.h"
#include "vernier/format.h"
#include "vernier/onnx_model.h"

namespace vernier {

/// With a SearchOptions::ladder: its rungs become the low formats and the high one, and no alternatives are measured.
/// Without one nothing changes. Errors: Usage for a ladder that is none, and for what a search on one cannot do.
DiagnoseOptions with_ladder(DiagnoseOptions options);

/// Errors: Input: `model` is quantized already.
[[noreturn]] void refuse_ladder_of(const OnnxModel& model);

/// Drops the rungs on which no layer of `plan` begins.
void keep_formats_of(const Plan& plan, std::vector<Format>& rungs);

}  // namespace vernier
