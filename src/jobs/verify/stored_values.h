// What a typed file stores, against what its float model holds: wrong codes, not only wrong scales. And the mistakes in
// its Q/DQ pairs, as reports name them.
#pragma once

#include <map>
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

/// Mistakes that the file alone shows and that change its values. `file`: as normalized_file() gives it. With
/// `perhaps_meant` also what a quantizer may do on purpose: other scales of biases, negative scales.
std::vector<FoundDefect> defects_of_pairs(const Model& file, bool perhaps_meant, Target target);

/// Layers of the file that read `tensor`, behind nodes that move its values perhaps, in words.
std::string readers_of(const Model& file, const std::string& tensor);

/// The name of what readers of a dequantized constant get; in front of it may be one that is rounded to it.
std::string read_name(std::string tensor);

/// The constant of the simulation that each DequantizeLinear of `file` makes, by the node's name.
std::map<std::string, std::string> constants_of_dequantizers(const Model& file, const FloatWeights& weights);

/// Constants behind a DequantizeLinear whose values are not those of the float model:
///
///   clipped-bias     an int32 bias that is more than 2^31 steps of its scale in the float model
///   bias-scale       an int32 bias that is right at input scale times weight scale, and is read at another scale
///   other-values     more than a tenth of a channel's values is off by more than a step, with a quarter of its
///                    energy; rounding to the scale explains at most half a step
///   shifted-codes    all values of a channel are off by one step or more together, beyond the mean of rounding
///                    (step / sqrt(12 n) of n values); or all of a weight are truncated, not rounded
///   weight-scale     the same values times a factor for each channel: another scale, or equalization
///   clipped-weight   values are cut off in front of where the float model's end, with a hundredth of the energy
///   wrong-codes      a few codes are many steps off, and nearly all others are what rounding gives
///
/// Values of four bits that are right up to the ends of the grid, and cut off there, are right: quantizers clip on
/// purpose. A bias that is right with the right scale of its weight has `of_weight_scale`.
///
/// Each names the layer, the channel, and both values. `file`, as normalized_file() gives it, and `simulated` are one
/// file; `weights`: what float_weights() found behind its constants.
std::vector<FoundDefect> find_other_values(const Model& file, const SimulatedFile& simulated,
                                           const FloatWeights& weights);

/// `found` in the place of those of `defects` that are about the same node and of the same kind.
void merge_defects(std::vector<FoundDefect>& defects, std::vector<FoundDefect> found);

}  // namespace vernier
