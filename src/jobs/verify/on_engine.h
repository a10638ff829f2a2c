// What an engine itself makes of a typed file, beside what the simulation says.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "analysis/figures.h"
#include "analysis/match_layers.h"
#include "jobs/common/load.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/search/objective.h"
#include "model/model.h"
#include "vernier/engine.h"
#include "vernier/report/verify.h"
#include "vernier/requirement.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {

/// Numbers of any type as float32; those are passed on.
Tensor as_float32(const Tensor& tensor);

/// Runs `typed` on the engine over all samples: as it is, for its outputs, and with `layers` a second time, with the
/// tensors of `matches` marked as outputs, layer by layer, which changes what the engine can fuse. An engine that
/// refuses to be marked gives outputs alone, with the reason. `loaded`: of the float model, beside which `typed` was
/// read. `tally`, where it is not null, sees the outputs of the engine.
///
/// Cost:   two builds of the engine, two of its runs and two of the reference a sample. One sample in memory.
/// Errors: Backend: no engine runs here, or it refuses the file; Interrupted.
EngineFigures measure_on_engine(const Model& typed, const Loaded& loaded, const LayerMatches& matches,
                                const Requirement* requirement, MeasureOn on, const EngineRunOptions& options,
                                bool layers, Tally* tally, const JobSinks& sinks);

/// Sums of the judged outputs alone, over all samples, on `engine`, which stays open; null: on ONNX Runtime.
/// Cost and errors: as above, of one build.
std::map<std::string, OutputStats> outputs_on_engine(const Model& typed, const Loaded& loaded,
                                                     const std::shared_ptr<EngineRunner>& engine, Tally* tally,
                                                     const JobSinks& sinks);

}  // namespace vernier
