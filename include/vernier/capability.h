// The job behind `vernier inspect capability`: which nodes of a model an engine takes, and the model cut up by that.
#pragma once

#include <filesystem>
#include <string>

#include "vernier/export.h"
#include "vernier/report/capability.h"
#include "vernier/sinks.h"

namespace vernier {

struct CapabilityOptions {
  std::filesystem::path model;
  std::string target = "tensorrt";  // tensorrt, openvino: by their published lists; onnxruntime: by the library itself
  std::filesystem::path output;     // folder for the parts; empty: not written
};

/// Errors: Usage for another target; Input; Backend when ONNX Runtime is missing.
VERNIER_API CapabilityReport inspect_capability(const CapabilityOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
