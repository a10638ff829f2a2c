// Scores that operators compute inside, which attend as a whole: from what they read, by their definitions.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <span>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// Some rows of scores of one sample, spread over all; a row without tokens is empty.
using ScoreRows = std::vector<std::vector<float>>;

/// An odd distance, so that they do not all have the same place in their sequences.
inline std::size_t step_between(std::size_t rows) {
  constexpr std::size_t kMostRows = 64;
  return rows / kMostRows | 1;
}

/// Whether `node` is Attention of ONNX, MultiHeadAttention or GroupQueryAttention, in a form that attention_rows()
/// knows: not with a cap on scores, sinks, positions of its own, windows of a cache, or quantized caches.
bool attends(const onnx::NodeProto& node);

/// Which inputs of such a node its scores come from, in this order: queries, keys, then others that it has.
std::vector<int> attention_inputs(const onnx::NodeProto& node);

/// `read`: those inputs, as float32; `keeps`: its mask holds true where a score counts. Empty: packed queries and keys,
/// and other shapes that the definition has no meaning for.
ScoreRows attention_rows(const onnx::NodeProto& node, std::span<const Tensor> read, bool keeps);

/// The input that is added to scores, or says which of them count; -1: none.
int mask_input(const onnx::NodeProto& node);

}  // namespace vernier
