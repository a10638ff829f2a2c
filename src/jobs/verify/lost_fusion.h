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
  bool gone = false;   // no more than rounding is left without it; else most of the loss is gone
};

/// Of `typed`, which loses accuracy with default optimizations. Compares judged outputs with and without optimizations
/// on four samples, and switches one optimization off after the other until they agree. The layer is named where a file
/// that gives out its quantized tensors loses as much. Cost: four sessions, and one more for each of at most six
/// options.
LostFusion find_lost_fusion(const Model& typed, const Loaded& loaded, DefaultPlace place);

}  // namespace vernier
