// KV caches of a typed file in their own format: what enters a cache is rounded, and the cache itself is read, joined
// and returned in the low type.
//
//   past, new -> Concat -> Cast (or Q/DQ) -> Sum ...     past, Cast or Q(new) -> Concat -> Sum (or DQ, Sum) ...
//
// Why: the network's memory, and the bytes that each step moves, shrink only if the tensors outside are small.
#pragma once

#include <cstdint>

#include "model/model.h"

namespace vernier {

/// Narrows those caches of `typed` (passes::enter_caches; made of `prepared`) that its plan has in a low type, as far
/// as ONNX and the engines join values of that type:
///
///   float16, bfloat16  Concat and TensorScatter
///   int8               Concat
///   float8             none: ONNX's Concat admits no float8
///
/// Other caches keep float inputs and outputs, with the Q/DQ pair inside, as does one that more than shapes and its
/// join read. A TensorScatter in float32 makes its graph output by itself, in front of the pair: TensorRT wants it so,
/// and takes no codes (compiled, TensorRT-RTX 1.7.1). Returns how many Casts the file has less.
std::int64_t narrow_caches(Model& typed, const Model& prepared, NamePool& names);

}  // namespace vernier
