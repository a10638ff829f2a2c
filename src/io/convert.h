// Turning the element type found in a file into the one that an input wants. Only conversions that keep every value are
// made, and float64 -> float32, because NumPy computes in float64 unless told otherwise.
#pragma once

#include <string>

#include "vernier/tensor.h"

namespace vernier {

/// True for the same type, float64 | float16 | uint8 -> float32, and int32 <-> int64.
bool convertible(Dtype from, Dtype to);

/// `found` as `to`; shares the bytes when nothing has to change, copies otherwise.
/// Errors: Input, starting with `where`, when an int64 does not fit into int32. Internal when not convertible().
/// Cost: one pass at most.
Tensor convert(const Tensor& found, Dtype to, const std::string& where);

}  // namespace vernier
