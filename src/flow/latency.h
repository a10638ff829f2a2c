// Latency on ONNX Runtime's own kernels, all optimizations on.
#pragma once

#include <memory>
#include <string>

#include "model/model.h"

namespace vernier {

class Runtime;

/// Median milliseconds of one run of `model` on `sample`: warmed up, at least 5 runs or half a second.
double median_latency_ms(const std::shared_ptr<const Runtime>& runtime, const Model& model, const Sample& sample,
                         int threads);

}  // namespace vernier
