// Second half of typed lowering: rewrites one graph and the bodies inside it by the choices made before. Casts and Q/DQ
// pairs are made when the first reader asks for them and are shared by the others, so that none is ever unused.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstdint>

#include "plan/format_choice.h"
#include "plan/plan.h"
#include "plan/typed_weights.h"

namespace vernier {

struct TypedCounts {
  std::int64_t casts = 0;
  std::int64_t quantize_pairs = 0;
  std::int64_t stored_weights = 0, stored_biases = 0;  // of these
  bool tensorrt_operators = false;
  std::int64_t shields = 0;  // layers kept float against the engine's own quantization
};

/// What all graphs of one model share while they are rewritten.
struct TypedContext {
  const Plan& plan;
  const FormatChoices& choices;
  TypedWeights& weights;
  NamePool& names;
  TypedCounts counts;
};

/// Tensors that come from outside are float32, and so are the graph's outputs afterwards.
void lower_graph(onnx::GraphProto& graph, TypedContext& context);

}  // namespace vernier
