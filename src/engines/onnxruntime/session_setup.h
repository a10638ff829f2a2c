// SessionOptions in ONNX Runtime's own form.
#pragma once

#include <cstddef>

#include "engines/onnxruntime/runtime.h"
#include "engines/onnxruntime/session.h"
#include "model/model.h"

namespace vernier {

// Sessions of models with fewer bytes of weights leave their freed blocks with the C library.
inline constexpr std::size_t kTrimmedBytes = std::size_t{8} << 20U;

/// Whether sessions of `graph` with these options run on the runtime's GPU.
bool runs_on_gpu(const Runtime& runtime, const SessionOptions& options, const onnx::GraphProto& graph);

GraphOptimizationLevel level_of(const SessionOptions& options);

/// With our operators, and whatever measuring needs. `in_turns`: with other parts, whose SharedArena it uses. Errors:
/// Usage for a provider that the runtime lacks; Backend for an operator that has no kernel on the GPU.
OwnedOptions runtime_options(const Runtime& runtime, const SessionOptions& options, const Model& model,
                             bool in_turns = false);

}  // namespace vernier
