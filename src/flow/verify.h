// Measuring a typed model that is in memory already. The public verify() reads a file first.
#pragma once

#include "model/model.h"
#include "vernier/jobs.h"
#include "vernier/report.h"

namespace vernier {

/// As verify() (include/vernier/jobs.h), with `typed` in the place of options.typed_model, which is only recorded.
VerifyReport verify_model(const Model& typed, const VerifyOptions& options, const JobSinks& sinks);

}  // namespace vernier
