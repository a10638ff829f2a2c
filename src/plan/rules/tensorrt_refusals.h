// Places for which TensorRT-RTX refuses a whole file: laws found with its compiler (docs/records/refused-files.md).
#pragma once

#include <vector>

#include "model/model.h"
#include "vernier/report/check_placement.h"

namespace vernier {

/// In graph order, bodies included. `file` is as it was written, with scales of blocks in their own types. Refusals
/// that show in the operators' types, which `check capability` lists, are not repeated.
std::vector<PlacementFinding> tensorrt_refusals(const Model& file);

}  // namespace vernier
