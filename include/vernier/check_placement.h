// The job behind `vernier check placement`: which Q/DQ pairs of a file an engine cannot fuse, why, and what would let
// it.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/onnx_model.h"
#include "vernier/report/check_placement.h"
#include "vernier/sinks.h"
#include "vernier/target.h"

namespace vernier {

struct CheckPlacementOptions {
  OnnxModel model;
  Target target = Target::TensorRt;
  std::optional<CompileOptions> compile;                // the file, by the engine's own compiler, too
  std::vector<std::filesystem::path> custom_operators;  // as in MeasureOptions
  bool checked = false;                                 // verify() or lint() has checked the model
};

/// Errors: Input; Backend when ONNX Runtime refuses the file, or an engine is to compile and is not there, crashes or
/// takes too long (that it refuses the file is a value); Usage: no engine that compiles is one of the target's.
VERNIER_API CheckPlacementReport check_placement(const CheckPlacementOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
