// The job behind `vernier check placement`: which Q/DQ pairs of a file an engine cannot fuse, why, and what would let
// it.
#pragma once

#include <filesystem>

#include "vernier/export.h"
#include "vernier/report/check_placement.h"
#include "vernier/target.h"

namespace vernier {

struct CheckPlacementOptions {
  std::filesystem::path model;
  Target target = Target::TensorRt;
};

/// Errors: Input; Backend when ONNX Runtime refuses the file.
VERNIER_API CheckPlacementReport check_placement(const CheckPlacementOptions& options);

}  // namespace vernier
