// What kernels for uint8 data and int8 weights do on x86 CPUs without VNNI, as a simulated graph: they multiply with
// VPMADDUBSW, which adds the products of two neighbours in 16 bits that saturate. That was read in ONNX Runtime's MLAS
// and measured with it and with OpenVINO on a CPU with AVX2 (docs/records/within-a-layer.md). In ONNX Runtime, products
// of u8 and u8, of s8 and s8, and depthwise convolutions do not saturate. Which layers such a kernel computes, its
// optimizer says: on x86 it makes int8 data uint8 in many places, and leaves layers in float in others.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/simulate_typed.h"
#include "vernier/format.h"

namespace vernier {

struct SaturatingLayer {
  std::string name;
  std::string op_type;
  Format data = Format::UInt8;  // as the file has it
};

struct SaturatingFile {
  Model model;
  /// Layers in which some pair may leave 16 bits, in graph order: the slot of each node PairSums is its place here.
  std::vector<SaturatingLayer> layers;
  /// Kernels that may saturate and are no layer with Q/DQ pairs of a known form, such as operators that read codes.
  std::vector<std::string> not_simulated;
};

/// Names of the nodes of `optimized`, a graph that ONNX Runtime would run, that multiply uint8 data by int8 weights of
/// more than 7 bits. A node that was fused of a MatMul and an Add has the name of the MatMul.
std::set<std::string> saturating_kernels(const onnx::ModelProto& optimized);

/// Names of the layers of `file` that OpenVINO multiplies so: Conv, Gemm and MatMul with a pair at the data, and
/// constant int8 weights, but for those behind a Transpose whose quantized values are the values themselves (a step of
/// 1 without a zero point, as pixels have): these it leaves in float (measured, OpenVINO 2026.4). It makes int8 data
/// uint8.
std::set<std::string> kernels_of_openvino(const SimulatedFile& file);

/// Which products of a convolution are neighbours. It sums channel by channel at each place of its kernel.
enum class Neighbours {
  AcrossPlaces,  // of an odd number of channels, the last one's is the first one of the next place (ONNX Runtime)
  WithinPlaces   // it has none (OpenVINO)
};

/// `file` with a PairSums (round_node.h) behind each layer that one of `kernels` computes and that may saturate.
SaturatingFile saturating_pairs(const SimulatedFile& file, const std::set<std::string>& kernels,
                                Neighbours neighbours = Neighbours::AcrossPlaces);

}  // namespace vernier
