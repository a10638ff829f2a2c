// Two tensors of different shapes made comparable, for --no-shape-check.
#pragma once

#include <optional>
#include <string>

#include "vernier/tensor.h"

namespace vernier {

struct Aligned {
  Tensor tensor;
  std::string how;  // "permuted from (1, 2, 3) to (1, 3, 2)"; empty when nothing was to do
};

/// `tensor` in `shape`: permuted when its rank is that of `shape` and its dimensions are the same in another order
/// (each axis goes to the first free one of its size), else its elements reread in row-major order. nullopt when the
/// numbers of elements differ, or 4-bit elements would have to be permuted. Source: try_match_shape of the peer.
std::optional<Aligned> aligned_to(const Tensor& tensor, const Shape& shape);

}  // namespace vernier
