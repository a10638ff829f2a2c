// Weights that are not those of the float model and that other layers undo, as equalization and rotation leave them:
// they are no defect.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "analysis/match_layers.h"
#include "analysis/subject.h"
#include "jobs/verify/float_twins.h"
#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/note.h"
#include "vernier/report/defects.h"
#include "vernier/report/figures.h"

namespace vernier {

/// Puts the float model's own values in the place of weights that are `scaled`, in another form or other ones, a layer
/// at a time, in a file without the roundings of activations. If the outputs are no worse, nothing undoes a factor:
/// `scaled` is cleared. If they are worse, the weights belong to the file and are `undone`: equalized, merged, permuted
/// or rotated. Of those that are `scaled`, the one layer whose values times a common factor take most of the noise away
/// is a defect after all; of several with one factor each, the fewest that heal a lost file. `file`, `simulated` and
/// `weights` as for find_other_values(), the simulation brought beside the subject's model. Cost: where some are in
/// doubt, up to ten runs of eight samples or fewer for each of 128 layers, and 256 for several factors.
void doubt_weights(std::vector<FoundDefect>& defects, const Model& file, const Subject& subject,
                   const SimulatedFile& simulated, const FloatWeights& weights, const LayerMatches& matches);

/// Drops weights that are `undone`, and says how many there are in notes. Weights that are `scaled` and were not tried
/// are dropped where all outputs of the file agree with the float model: a scale that is wrong would show in outputs.
/// Returns the nodes of all whose factors other layers undo.
std::set<std::string> excuse_weights(std::vector<FoundDefect>& defects, const RunFigures& figures,
                                     std::vector<Note>& notes);

}  // namespace vernier
