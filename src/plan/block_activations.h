// What TensorRT-RTX 1.7.1 refuses of data and weights in blocks (compiled for 12.0, docs/records/refused-files.md).
#pragma once

#include <string>
#include <string_view>

#include "model/model.h"
#include "vernier/format.h"

namespace vernier {

inline constexpr std::string_view kOneBlockOfWeight =
    "its weight is one block, and TensorRT refuses a single scale for a block (compiled, TensorRT-RTX 1.7.1)";

/// Why data of `type`, quantized in blocks along its last dimension in each run, is refused; empty: it is not.
///   any      2 or 3 dimensions
///   nvfp4    more than one block, unless a dimension is open
///   mxfp8    of 2 dimensions more than one block in each row; of 3 more than one block, whatever open dimensions are
std::string refused_block_activation(const ValueType& type, Format format);

}  // namespace vernier
