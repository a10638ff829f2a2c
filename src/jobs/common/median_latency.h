// How long a model takes in ONNX Runtime with all of its optimizations.
#pragma once

#include <memory>

#include "model/model.h"
#include "vernier/samples.h"

namespace vernier {

class Runtime;

/// Median milliseconds of one run of `model` on `sample`: warmed up, at least 3 runs and 50 ms, at most 50 runs.
double median_latency_ms(const std::shared_ptr<const Runtime>& runtime, const Model& model, const Sample& sample,
                         int threads);

}  // namespace vernier
