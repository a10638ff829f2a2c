// The elements of a tensor of any type as float32, float64 or int64, block by block, so that no second copy of a tensor
// is ever made. Conversions are exact; float32 tensors read as float are not copied at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// Elements a block: two tensors and their two series of errors in float32 fill a 32 KiB first-level cache.
inline constexpr std::int64_t kBlock = 2048;

bool is_float(Dtype dtype);    // float64, float32, float16, bfloat16, float8
bool is_integer(Dtype dtype);  // int4 .. uint64; not bool
/// Float formats that float32 holds exactly.
bool fits_float32(Dtype dtype);

/// Elements [first, first + n) of `tensor`; `room` is where converted ones are kept, the span may point into it.
///   T = float:        types of fits_float32, and bool
///   T = double:       every numeric type and bool (int64 and uint64 beyond 2^53 are rounded)
///   T = std::int64_t: integers and bool; uint64 by its bits
/// Errors: Internal for another type.
template <class T>
std::span<const T> read_block(const Tensor& tensor, std::int64_t first, std::size_t n, std::vector<T>& room);

}  // namespace vernier
