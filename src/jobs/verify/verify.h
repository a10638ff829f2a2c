// Measuring a typed model that is in memory already. The public verify() reads a file first.
#pragma once

#include "jobs/common/load.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/report/verify.h"
#include "vernier/sinks.h"
#include "vernier/verify.h"

namespace vernier {

/// As verify() (include/vernier/jobs.h), with `typed` in the place of options.typed_model, which is only recorded.
VerifyReport verify_model(const Model& typed, const VerifyOptions& options, const JobSinks& sinks);

/// The float model of `options`, ready to be measured beside `typed`; `simulated`, made of `typed`, is brought to the
/// same opset and has the same Ifs inlined. Errors: Input when inputs or outputs differ.
Loaded load_beside(const Model& typed, SimulatedFile& simulated, const VerifyOptions& options, const JobSinks& sinks);

}  // namespace vernier
