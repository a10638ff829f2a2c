// Which of ONNX Runtime's default optimizations changes what a quantized file computes, and at which layer.
#pragma once

#include <string>

#include "jobs/common/load.h"
#include "jobs/common/runtime_check.h"
#include "model/model.h"

namespace vernier {

struct LostFusion {
  std::string layer, op_type;  // the first whose result another kernel gives; empty: no quantized tensor shows it
  std::string option;  // of the session, without which it is lost: "session.disable_quant_qdq=1"; empty: none helps
};

/// Of `typed`, which loses accuracy with default optimizations. Compares quantized tensors and outputs with and without
/// optimizations on four samples, then switches one optimization off after the other until the outputs agree. Cost: two
/// sessions, and one more for each of at most six options.
LostFusion find_lost_fusion(const Model& typed, const Loaded& loaded, DefaultPlace place);

}  // namespace vernier
