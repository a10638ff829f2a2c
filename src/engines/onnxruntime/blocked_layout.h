// The runtime's convolutions compute on blocked tensors (channels in groups as wide as a vector), and its optimizer
// puts a reordering in front of and behind each operator that is none of its own. Ours round every value alike,
// wherever it lies: so do a few of the runtime's between them. They take the blocked tensor here, and the reorderings
// fall away.
#pragma once

#include "model/model.h"

namespace vernier {

/// Behind the name of a tensor: the same in the blocked layout.
inline constexpr const char* kBlocked = "/blocked";

/// Moves reorderings of an optimized graph behind the operators that do not mind (Round, Switch, Relu, Clip, QuickGelu,
/// Sigmoid; Add and Mul of equal shapes) and drops those that meet their inverse. The same bits come out. `Switch`
/// nodes must then be given roundings of one scale only: where `Round` has a scale for each channel it stays in place.
void move_reorderings(Model& optimized);

/// Puts into value_info, in place of all that was there, which blocked tensors are shaped alike: by symbols, not by
/// sizes, which may differ from sample to sample. The runtime infers no shapes of them, and lets an output take the
/// place of its input only where it knows both to be of one shape.
void tell_blocked_shapes(Model& optimized);

}  // namespace vernier
