// What a diagnosis asks of an engine beside trials: whether it is there, its times, and what its compiler makes of the
// typed model.
#pragma once

#include <string>

#include "analysis/subject.h"
#include "jobs/common/load.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/engine/compiler.h"
#include "jobs/search/costs.h"
#include "model/model.h"
#include "plan/plan.h"
#include "vernier/diagnose.h"
#include "vernier/report/engine.h"
#include "vernier/sinks.h"

namespace vernier {

/// Before anything is measured: the engine that has to agree is there, and can judge what decides.
/// Errors: Usage, Backend.
void require_engine(const DiagnoseOptions& options, const JobSinks& sinks);

/// Times of layers there, of the float model and of `low`; `engine` gets what it calls itself.
LayerTimes times_on_engine(const DiagnoseOptions& options, const Loaded& loaded, const Model& low,
                           const JobSinks& sinks, std::string& engine);

/// What the compiler makes of the model that `typed` wrote last. Where some of that has less than 16 bits, for
/// TensorRT, also how many kernels everything in float16 would have. That the compiler refuses is a value.
EngineReport compile_typed(Compiler& compiler, const Loaded& loaded, const Plan& all_low, TypedResult& typed);

}  // namespace vernier
