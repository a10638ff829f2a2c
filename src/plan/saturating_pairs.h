// What ONNX Runtime's kernels for uint8 data and int8 weights do on x86 CPUs without VNNI, as a simulated graph: they
// multiply with VPMADDUBSW, which adds the products of two neighbours in 16 bits that saturate. Which kernels those are
// was read in MLAS (docs/truth.md): matrix products of u8 and s8 on SSE4.1, AVX2 and AVX-512 alike, in QLinearConv,
// QLinearMatMul, MatMulIntegerToFloat and QGemm. Products of u8 and u8, of s8 and s8, and depthwise convolutions are
// summed in 16 bits that are wide enough, or in 32.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/simulate_typed.h"

namespace vernier {

struct SaturatingLayer {
  std::string name;
  std::string op_type;
};

struct SaturatingFile {
  Model model;
  /// Layers in which some pair may leave 16 bits, in graph order: the slot of each node PairSums is its place here.
  std::vector<SaturatingLayer> layers;
  std::size_t not_simulated = 0;  // layers on codes whose weights have another form: operators that read codes, batches
};

/// `file` with a PairSums (round_node.h) behind each layer that such a kernel computes and that may saturate.
SaturatingFile saturating_pairs(const SimulatedFile& file);

}  // namespace vernier
