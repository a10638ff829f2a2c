// Layers of a quantized file that lose most of their signal by themselves, and which pair in front of them does it:
// what a table of figures shows to those who know how to read one.
#pragma once

#include <vector>

#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/report/debug_loss.h"

namespace vernier {

/// One defect of kind "lost-layer" for each layer whose local error, on exact inputs, holds 3 % of its energy or more
/// (below 15 dB; with INT4 below 5 dB): the worst of the pairs that it reads, what is wrong there, and the cure. Of a
/// file with an output below 20 dB also one of kind "starved-channels" for each weight whose one scale leaves many of
/// its channels few levels. A layer behind a defect that `report` has is not named again. `given`: the file,
/// normalized; `report`: with its tensors and quantizers, these in the order of `file.quantized`. Cost: linear in nodes
/// and weights.
std::vector<FoundDefect> find_lost_layers(const Model& given, const SimulatedFile& file, const DebugLossReport& report);

}  // namespace vernier
