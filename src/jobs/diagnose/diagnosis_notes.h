// What a diagnosis says of layers in words, before it searches.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/layers.h"
#include "plan/plan.h"
#include "vernier/format.h"
#include "vernier/note.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// Layers that are lowered by `plan` and not measured one by one: inside bodies, and what happens inside recurrent
/// ones.
std::vector<Note> notes_of_unmeasured(const std::vector<Layer>& layers, const Plan& plan);

/// Layers in loops of `model` whose number of steps is no constant, so that their work counts once.
std::vector<Note> notes_of_loops(const Model& model, const std::vector<Layer>& layers);

/// `must`: layers that alone make an output not finite. Empty when there are none.
std::vector<Note> notes_of_known(const std::vector<std::string>& must, Format high);

/// Everything in the high format misses the requirement, and by more than everything low.
std::optional<Note> worse_high_note(const DiagnoseReport& report);

}  // namespace vernier
