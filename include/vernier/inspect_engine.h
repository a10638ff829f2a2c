// The job behind `vernier inspect engine`: what an engine's own compiler makes of a typed file, kernel by kernel and
// layer by layer.
#pragma once

#include <filesystem>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/report/engine.h"
#include "vernier/sinks.h"

namespace vernier {

struct InspectEngineOptions {
  /// An ONNX file, which is compiled now; or layer information as JSON, of trtexec or of TensorRT's engine inspector.
  std::filesystem::path file;
  std::filesystem::path model;  // beside layer information: the ONNX file that it was made of; empty: not known
  CompileOptions compile;
};

/// Errors: Input: the file; Backend: no engine, or it refuses the file, in its own words; Interrupted.
VERNIER_API EngineReport inspect_engine(const InspectEngineOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
