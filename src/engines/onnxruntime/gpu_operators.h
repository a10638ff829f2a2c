// The operators of operators.h on a GPU, but for PairSums.
#pragma once

#include <onnxruntime_c_api.h>

namespace vernier {

class Runtime;

/// Adds their domain to the options of a session on a GPU. Sessions are made and run inside a GpuRun.
void register_gpu_operators(const Runtime& runtime, OrtSessionOptions* options);

}  // namespace vernier
