// Which ONNX Runtime executes the networks.
#pragma once

#include <filesystem>

#include "vernier/export.h"

namespace vernier {

/// The library that jobs load, instead of looking for one; VERNIER_ORT_LIBRARY in the environment wins. A process has
/// one ONNX Runtime: once a job has loaded it, this has no effect as long as anything holds it. Safe from any thread.
VERNIER_API void use_onnxruntime(const std::filesystem::path& library);

}  // namespace vernier
