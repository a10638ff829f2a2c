// Weights that a file stores times factors: those that another layer undoes, as equalization leaves them, are no
// defect.
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

/// Puts the float model's own values in the place of weights that are `scaled` or in another form, a layer at a time.
/// If the outputs are no worse, nothing undoes a factor: `scaled` is cleared. If they are worse, the weights belong to
/// the file: those in another form become `folded`. `file`, `simulated` and `weights` as for
/// find_other_values(), the simulation brought beside the subject's model. Cost: where some are scaled, at most eight
/// samples for each of 16 layers.
void doubt_scaled_weights(std::vector<FoundDefect>& defects, const Model& file, const Subject& subject,
                          const SimulatedFile& simulated, const FloatWeights& weights);

/// Drops weights that are `scaled` where all outputs of the file agree with the float model, and says so in a note: the
/// factors of one layer undo those of another, as equalization leaves them. A scale that is wrong would show in
/// outputs. Those that are `folded` are dropped in any case. Returns the nodes of all that it dropped.
std::set<std::string> excuse_scaled_weights(std::vector<FoundDefect>& defects, const RunFigures& figures,
                                            std::vector<Note>& notes);

}  // namespace vernier
