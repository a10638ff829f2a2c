// --postprocess top-K[,axis=A]: outputs become the indices of their largest elements before they are compared.
#pragma once

#include <cstdint>

#include "vernier/tensor.h"

namespace vernier {

/// Indices (int64) of the `k` largest elements along `axis`, largest first; equal ones in the order they stand in. NaN
/// comes last. `k` beyond the axis takes all of it.
///
/// Shapes: dimension `axis` of the result is min(k, its size); a negative axis counts from the end.
/// Errors: Usage when the tensor has no such axis; Input for strings.
/// Source: TopKPostprocessFunc of the peer, numpy.argsort(-x, kind="stable").
Tensor top_k(const Tensor& tensor, std::int64_t k, std::int64_t axis = -1);

}  // namespace vernier
