// What a typed file stores, against what its float model holds: wrong codes, not only wrong scales. And the mistakes in
// its Q/DQ pairs, as reports name them.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analysis/subject.h"
#include "jobs/verify/float_twins.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/note.h"
#include "vernier/report/defects.h"
#include "vernier/report/figures.h"

namespace vernier {

/// Mistakes that the file alone shows. `file`: as normalized_file() gives it. With `perhaps_meant` also what a
/// quantizer may do on purpose: layers that stay in float, other scales of biases, blocks that do not divide.
std::vector<FoundDefect> defects_of_pairs(const Model& file, bool perhaps_meant, Target target = Target::TensorRt);

/// The name of what readers of a dequantized constant get; in front of it may be one that is rounded to it.
std::string read_name(std::string tensor);

/// Constants behind a DequantizeLinear whose values are not those of the float model:
///
///   clipped-bias   an int32 bias that is more than 2^31 steps of its scale in the float model
///   other-values   more than a tenth of a channel's values is off by more than a step, and a quarter of its energy is
///                  lost; rounding to the scale explains at most half a step
///   weight-scale   the same values times a factor for each channel: another scale, or factors that another layer
///   undoes clipped-weight values are cut off in front of where the float model's end, and a hundredth of the energy is
///   lost wrong-codes    a few codes are many steps off, and nearly all others are what rounding gives
///
/// Each names the layer, the channel, and both values. `file`, as normalized_file() gives it, and `simulated` are one
/// file; `weights`: what float_weights() found behind its constants.
std::vector<FoundDefect> find_other_values(const Model& file, const SimulatedFile& simulated,
                                           const FloatWeights& weights);

/// Clears `scaled` of weights that nothing undoes: with the float model's own values in their place, a layer at a time,
/// the outputs are no worse. `file`, `simulated` and `weights` as above, the simulation brought beside the subject's
/// model. Cost: where some are scaled, at most eight samples for each of 16 layers.
void doubt_scaled_weights(std::vector<FoundDefect>& defects, const Model& file, const Subject& subject,
                          const SimulatedFile& simulated, const FloatWeights& weights);

/// Drops weights that are `scaled` where all outputs of the file agree with the float model, and says so in a note: the
/// factors of one layer undo those of another, as equalization leaves them. A scale that is wrong would show in
/// outputs. Returns the nodes of those that it dropped.
std::set<std::string> excuse_scaled_weights(std::vector<FoundDefect>& defects, const RunFigures& figures,
                                            std::vector<Note>& notes);

/// `found` in the place of those of `defects` that are about the same node and of the same kind.
void merge_defects(std::vector<FoundDefect>& defects, std::vector<FoundDefect> found);

}  // namespace vernier
