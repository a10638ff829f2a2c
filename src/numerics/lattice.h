// Do the values of a constant lie on a grid? Weights of networks that were trained for quantization do.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace vernier {

/// Values that are whole multiples of a step.
struct Lattice {
  double step = 0;
  std::int64_t largest = 0;  // multiple in magnitude
  std::size_t distinct = 0;  // values, zero among them
  /// How many values are more than `multiple` steps from zero.
  std::int64_t beyond(std::int64_t multiple, std::span<const float> values) const;
};

/// The widest step that every value is a multiple of, to within a hundredth of it; absent when there is none with at
/// most 255 multiples on each side, or when there are too few values to tell: fewer than 8 distinct ones, or 16 in all.
///
///   step: the smallest distance of two values, then by least squares  s = sum w k / sum k^2,  k = rne(w / s)
///
/// Edges: NaN and infinities are on no grid. Cost: one sort.
std::optional<Lattice> lattice_of(std::span<const float> values);

}  // namespace vernier
