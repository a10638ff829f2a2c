// The elements of a small tensor, as NumPy prints an array.
#pragma once

#include <string>

#include "vernier/tensor.h"

namespace vernier {

/// "[[ 1  -2]\n [ 0.5  3]]": columns aligned, rows broken at 75 columns. float32 and float64 with as many digits as
/// tell them apart, smaller floats with four or five. Strings: "(strings)".
std::string values_to_text(const Tensor& tensor);

}  // namespace vernier
