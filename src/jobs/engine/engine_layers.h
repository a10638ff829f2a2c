// Which kernel of an engine computes which layer of the file that it was made of.
#pragma once

#include "model/model.h"
#include "vernier/report/engine.h"

namespace vernier {

/// Fills layers, helpers and notes of `report`, whose kernels are there. `typed`: the file that was compiled, with
/// the names that the engine got.
void match_kernels(const Model& typed, EngineReport& report);

/// Without a file: kernels that change a layout alone, by their kind.
void find_helpers(EngineReport& report);

}  // namespace vernier
