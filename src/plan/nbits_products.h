// Products of matrices whose constant weight is stored in blocks of 4 bits. ONNX Runtime's optimizer makes its own
// MatMulNBits of most of them, which multiplies the stored weight. For the others it dequantizes the weight in every
// run, which takes longer than float32 (docs/formats.md).
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <string>

#include "model/model.h"
#include "plan/rules/qdq_graph.h"

namespace vernier {

/// Why ONNX Runtime makes no MatMulNBits of `product`: the end of a sentence that starts with "because". Empty: it
/// makes one, or the weight is not in blocks of 4 bits. Checked with 1.31.1 (tests/diff/test_nbits.py).
std::string why_weight_expands(const QdqGraph& graph, const onnx::NodeProto& product);

struct NBitsProducts {
  std::size_t written = 0;       // MatMulNBits
  std::size_t left = 0;          // products whose weight is dequantized in every run
  std::size_t dequantizers = 0;  // that are gone
};

/// Rewrites the products that ONNX Runtime would not fuse: a transposed weight is stored as MatMul reads it if that is
/// enough, else the product becomes a MatMulNBits, if that operator can say it. No value of a weight changes.
NBitsProducts write_nbits_products(Model& typed, NamePool& names);

}  // namespace vernier
