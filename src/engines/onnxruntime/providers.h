// Execution providers of ONNX Runtime: on what hardware a session runs.
#pragma once

#include <onnxruntime_c_api.h>

#include <string>
#include <vector>

namespace vernier {

class Runtime;

/// Providers built into the runtime that was loaded: "CPUExecutionProvider" ...
std::vector<std::string> available_providers(const Runtime& runtime);

/// Adds the providers named, best first, by any part of their names, whatever the case. CPU is always behind them.
/// Errors: Usage when this runtime has no such provider, with those it has; Backend with the runtime's text when it
/// cannot be set up.
void append_providers(const Runtime& runtime, OrtSessionOptions* options, const std::vector<std::string>& names);

}  // namespace vernier
