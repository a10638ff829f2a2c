// Layers of a quantized file that lose most of their signal by themselves, and which pair in front of them does it:
// what a table of figures shows to those who know how to read one.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "jobs/debug/stored_losses.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/report/debug_loss.h"

namespace vernier {

/// Three percent of the energy is noise: far below what eight bits leave of a layer on exact inputs (25 dB and more).
inline constexpr double kLostLayerDb = 15;

/// What a layer keeps on exact inputs, in dB, if only its activations are quantized, or only its weights, or nothing.
struct LayerLoss {
  double of_inputs = 0, of_weights = 0, of_nothing = 0;
};
using LayerLosses = std::map<std::string, LayerLoss>;  // by the tensor of the float model

/// A file whose layers are looked at. `normalized`: as normalized_pairs() gives it, `simulated` made of it; `skipped`:
/// tensors that stand for other values; `stored`: weights without a pair, as losses_of_stored() gives them.
struct LossyFile {
  const Model& normalized;
  const SimulatedFile& simulated;
  const std::set<std::string>& skipped;
  const StoredLosses& stored;
};

/// One defect of kind "lost-layer" for each layer whose local error, on exact inputs, holds 3 % of its energy or more
/// (below 15 dB; with INT4 below 5 dB, in FP32 without a pair or a Cast to 16 bits below 30 dB): the worst of the pairs
/// that it reads and that make its error, what is wrong there, and the cure; else the weight that the
/// layer stores itself, of 2 bits only if its scale is far too large. If no pair makes it, the layer itself,
/// unless `outputs_agree` without any rounding. Of a file with an output below 20 dB also one of kind
/// "starved-channels" for each weight whose one scale leaves many of its channels few levels. A layer with a pair that
/// has a defect in `report` is not named again. `report`: with its tensors; `losses`: of the pairs on exact values, in
/// the order of `simulated.quantized`. Cost: linear in nodes and weights.
std::vector<FoundDefect> find_lost_layers(const LossyFile& file, const DebugLossReport& report,
                                          const LayerLosses& errors, const std::vector<QuantizerLoss>& losses,
                                          const std::function<bool()>& outputs_agree);

}  // namespace vernier
