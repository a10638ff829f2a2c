// An array's values as NumPy prints them, which is what readers of saved data know:
//
//   [[ 1.   2.5]
//    [-3.   4. ]]
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "vernier/tensor.h"

namespace vernier {

struct ArrayTextOptions {
  std::optional<std::size_t> edge_items =
      3;  // shown at each end of a dimension, of arrays over 1000 values; absent: all
  std::optional<std::size_t> line_width = 75;  // absent: lines end where rows do
};

/// str(array) under numpy.set_printoptions(edgeitems, linewidth) of NumPy 2; several lines, without a line end.
/// Types: those that NumPy has. Errors: Internal for others.
/// Source: numpy/_core/arrayprint.py: _formatArray, FloatingFormat.
std::string array_text(const Tensor& array, const ArrayTextOptions& options);

}  // namespace vernier
