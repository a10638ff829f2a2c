// Recurrent layers in float32 whose data is cast from float16 or bfloat16. TensorRT-RTX 1.7.1 moves such a Cast into
// the loop over the sequence and then refuses the file: "Mismatched number of elements in reshape op" (compiled). It
// does so for LSTM, GRU and RNN from front to back, through all operators that keep every value, if nothing else reads
// what stands between. A computation, a Slice or a Concat between prevents it (docs/records/refused-files.md).
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

/// Cheap: types are inferred only where there is reason to.
bool may_move_casts(const Model& typed);

/// Names of the layers of `typed` that the engine refuses for it.
std::vector<std::string> layers_behind_casts(const Model& typed);

/// Puts a Sub of 0 in front of layers behind such a Cast, which keeps it out of the loop: of those that the engine
/// refuses, and of those in bodies, in other directions and with other readers, too. No value changes. Their names.
std::vector<std::string> hold_casts(Model& typed, NamePool& names);

}  // namespace vernier
