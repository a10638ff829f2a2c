// One copy of a matrix that a model holds both ways. Embeddings that the last layer reads too ("tied") come as one
// weight and a Transpose; once that is folded, so that the layer has a constant weight, the file would hold two.
#pragma once

#include <cstddef>

#include "model/model.h"

namespace vernier {

/// Replaces float initializers of the main graph (float32, float16, bfloat16; two dimensions, kWeightBytes or more)
/// that are the transpose of another one by a Transpose node, which engines fold when they load the file. The one that
/// stays is the first that a Gather reads, else the first. Codes stay: engines want a constant in front of a
/// DequantizeLinear. Returns how many went. No value changes. Cost: one pass over each pair of matrices of matching
/// shapes, which ends at the first difference.
std::size_t share_transposes(Model& typed, NamePool& names);

}  // namespace vernier
