// MatMul weights of more than two dimensions with a scale for each column. ONNX Runtime loads a file with them, fuses
// the MatMul into a kernel on codes, and refuses at the first run: MatMulIntegerToFloat takes no vector of zero points
// for such a weight, QLinearMatMul no vector of scales either (seen with 1.31).
#pragma once

#include <string>

#include "model/model.h"
#include "plan/rules/qdq_graph.h"

namespace vernier {

/// Why ONNX Runtime refuses to run `matmul` for such a weight; empty: it does not, or it is none.
std::string refused_batched_weight(const QdqGraph& graph, const onnx::NodeProto& matmul);

/// Rewrites `typed` so that ONNX Runtime runs it: zero points of such weights, which are all zero, are left out, and a
/// Sum of one input keeps the MatMul from being fused with a QuantizeLinear behind it. No value changes.
void fit_batched_weights(Model& typed, NamePool& names);

}  // namespace vernier
