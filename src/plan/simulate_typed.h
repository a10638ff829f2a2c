// A typed model (ours or anyone's: Casts, float16/bfloat16 tensors, Q/DQ) -> an equivalent float32 graph with `Round`
// nodes, built only from what the *file* says, so that it runs on any ONNX Runtime provider with real rounding after
// each node. This is the independent road to the numbers: it shares nothing with plan-driven lowering but
// Round itself and what engines do within a layer (engine_sums.h).
#pragma once

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/normalized_file.h"
#include "plan/one_copy.h"
#include "plan/plan.h"
#include "plan/widened_floats.h"
#include "vernier/arithmetic.h"
#include "vernier/note.h"

namespace vernier {

/// A tensor that the file quantizes and dequantizes with the same constant parameters.
struct QuantizedTensor {
  std::string tensor;       // before it; of stored codes the same as `output`
  std::string output;       // behind it
  std::string quantizer;    // node; empty for stored codes
  std::string dequantizer;  // node
  QuantParams params;
  int rank = -1;  // of the tensor; -1: not known
};

struct SimulatedFile {
  Model model;  // float32, with nodes of domain "vernier" (see round_node.h)
  /// Format of every float layer of the file, by node name: what it computes in. Quantized layers by their input grid.
  std::vector<PlannedLayer> layers;
  std::vector<QuantizedTensor> quantized;  // in graph order
  std::vector<Note> notes;                 // "Loop body left as it is", ...
  /// Layers of which TensorRT-RTX loses a limit (engine_limits.h). It is lost here too where `arithmetic` sums as it.
  std::vector<std::string> lost_limits;
  /// Layers that TensorRT computes in steps of half precision (half_steps.h), simulated on the same condition.
  std::vector<std::string> half_steps;
};

/// `arithmetic`: what the file does not say. Where stored codes would take more than `most_decoded` bytes as floats,
/// weights stay codes and each run decodes them. `weights`: those of simulations of the same file; null: there are
/// none.
SimulatedFile simulate_typed(const Model& typed, const Arithmetic& arithmetic = {},
                             std::size_t most_decoded = kOneCopyAbove, WidenedWeights* weights = nullptr);

/// Whether any layer of the file computes in less than float32.
inline bool any_low(const SimulatedFile& file) {
  return std::ranges::any_of(file.layers, [](const PlannedLayer& layer) { return layer.format != Format::Float32; });
}

/// The ends of a pair's grid that bound values of the network itself, as a converter leaves a ReLU6 to the quantizer.
struct Clamp {
  bool low = false, high = false;
};

/// Which ends of its grid the pair that makes `output` (QuantizedTensor::output) clamps to; absent: none.
using Clamps = std::map<std::string, Clamp>;

/// The float32 network behind a typed file: the same graph without its roundings, with the weights as the file has
/// them. Pairs leave a Clip to the ends in `clamps`. Inputs and outputs keep their types. What computes on codes
/// (QLinearConv, MatMulInteger) stays as it is.
SimulatedFile without_roundings(const Model& typed, const Clamps& clamps = {});

}  // namespace vernier
