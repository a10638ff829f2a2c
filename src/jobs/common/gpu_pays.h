// When ‹device› auto uses a GPU.
#pragma once

#include <set>

#include "model/model.h"
#include "vernier/format.h"
#include "vernier/samples.h"

namespace vernier {

/// Multiply-accumulates of one sample, by the shapes that ONNX infers from it; what it cannot infer counts as none.
double multiply_accumulates_of(const Model& model, const Sample& sample);

/// Whether a job that measures `model` in `formats` is faster on a GPU: all samples together are at least 5e11
/// multiply-accumulates (VERNIER_GPU_FROM names another number), and one of the formats is low. Measured on an NVIDIA
/// H200 against 16 cores (docs/records/gpu.md). Cost: one inference of shapes.
bool gpu_pays(const Model& model, const SampleSource& samples, const std::set<Format>& formats);

}  // namespace vernier
