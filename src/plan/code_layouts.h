// Constants of codes and of their parameters, laid out as a DequantizeLinear reads them.
#pragma once

#include "vernier/tensor.h"

namespace vernier {

/// uint4 of bytes with two codes each, the low ones first: twice as many in the last dimension.
Tensor nibbles_of(const Tensor& bytes);

/// Zero points in the middle of unsigned codes of 4 or 8 bits.
Tensor middle_codes(Dtype dtype, const Shape& shape);

/// The last two of three dimensions, of codes of 8 bits, change places.
Tensor transposed_codes(const Tensor& codes);

/// The same values in one dimension; a single one in none.
Tensor flattened(const Tensor& values);

}  // namespace vernier
