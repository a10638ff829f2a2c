// What a network must hold in memory at the least: the yardstick for the memory of our passes.
#pragma once

#include <cstddef>

#include "analysis/subject.h"

namespace vernier::bench {

/// Bytes of the tensors that are alive at once, at the worst node, when the main graph runs in its order and every
/// tensor is dropped after its last reader: graph inputs and a node's own inputs and outputs included, weights not.
/// Shapes are those of the first sample. Cost: one inference.
std::size_t largest_live_set(const Subject& subject);

/// Bytes of all initializers, those of subgraphs included.
std::size_t weight_bytes(const Model& model);

}  // namespace vernier::bench
