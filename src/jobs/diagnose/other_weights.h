// Weights of a quantized file that are not the float model's, and those that are, in a range that is too narrow.
#pragma once

#include <string>

#include "model/model.h"

namespace vernier {

/// Whether the constant `held` of the file is another weight than `wanted` of the float model, whatever one factor,
/// rounding and clipping do: an equalized or rotated one, whose scales, and those of the data that it reads, fit no
/// tensor of the float model. False of constants that are missing, not float32, or of another shape.
bool is_other_weight(const Model& file, const std::string& held, const Model& network, const std::string& wanted);

}  // namespace vernier
