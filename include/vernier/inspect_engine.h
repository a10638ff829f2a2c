// The job behind `vernier inspect engine`: what an engine's own compiler makes of a typed file, kernel by kernel and
// layer by layer.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/report/engine.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {

struct InspectEngineOptions {
  /// An ONNX file, which is compiled now; or layer information as JSON, of trtexec or of TensorRT's engine inspector.
  std::filesystem::path file;
  std::filesystem::path model;  // beside layer information: the ONNX file that it was made of; empty: not known
  EngineChoice engine = EngineChoice::Any;
  std::string compute_capability;       // "8.9"; empty: of the GPU that is here, else 8.9 where it compiles for that
  std::map<std::string, Shape> shapes;  // of inputs; open dimensions of others are 1
  std::string python = "python3";       // that has the engine's packages
  double seconds = 600;                 // that each answer of the engine may take
};

/// Errors: Input: the file; Backend: no engine, or it refuses the file, in its own words; Interrupted.
VERNIER_API EngineReport inspect_engine(const InspectEngineOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
