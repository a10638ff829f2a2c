// Classification: at which place the right class stands.
#pragma once

#include <cstdint>
#include <span>

namespace vernier {

/// How many classes stand before `label`: 0 is top-1, below 5 is top-5. Ties go to the lower index, as NumPy's argmax.
///
/// Shapes: scores [n], label in [0, n).
/// Edges:  a NaN of another class stands before it; where the label's own score is NaN it stands last (n).
/// Cost:   one pass.
std::size_t place_of(std::span<const float> scores, std::size_t label);

}  // namespace vernier
