// Operators of a typed file that TensorRT computes in steps of half precision (steps_in_half): which they are, and the
// file with those steps spelled out.
#pragma once

#include <string>
#include <vector>

#include "model/model.h"

namespace vernier {

/// Whether the main graph holds an operator that may be one.
bool may_take_half_steps(const Model& typed);

/// Names of the layers. Those whose steps are known operators (LogSoftmax, ReduceLogSumExp, and LpNormalization with
/// p = 2) become these operators in `typed`, which is as normalized_file() gives it.
std::vector<std::string> spell_out_half_steps(Model& typed);

}  // namespace vernier
