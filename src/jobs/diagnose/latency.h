// Latency on ONNX Runtime's own kernels, all optimizations on, or on an engine.
#pragma once

#include <string>
#include <vector>

#include "analysis/subject.h"
#include "jobs/engine/engine_runner.h"
#include "model/model.h"
#include "vernier/format.h"
#include "vernier/report/diagnose.h"
#include "vernier/samples.h"
#include "vernier/target.h"

namespace vernier {

class Runtime;

struct LatencyModels {
  const Model* original = nullptr;
  const Model* low = nullptr;       // null: not measured
  const Model* repaired = nullptr;  // null: as low
};

/// Whether ONNX Runtime's CPU provider computes in any of these formats: else its latency says nothing of them.
bool has_integer_kernels(const std::vector<Format>& low);

/// A sentence where kept layers cost half of what low precision gains or more, or where it gains nothing; else empty.
std::string what_keeping_cost(const LatencyReport& latency);

/// On `engine`, of files as they stand, the first sample: the time of the inference alone. A model that the engine
/// refuses has no figure, and the note says why. Cost: a build and a quarter of a second for each. Errors: Interrupted.
LatencyReport measure_latency(EngineRunner& engine, const SampleSource& samples, const LatencyModels& models);

/// On the first sample. `target`: whose placement the low models have.
LatencyReport measure_latency(const Subject& subject, const LatencyModels& models, Target target);

}  // namespace vernier
