// Q/DQ pairs that an engine cannot fuse.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/report/text.h"
#include "vernier/target.h"

namespace vernier {

struct PlacementFinding {
  std::string rule;  // "conv-without-quantizer-behind"
  std::string node;  // where it shows
  std::string why;
  std::string change;  // what would let the engine fuse it
};

struct CheckPlacementReport {
  int version = 1;
  std::string file;
  Target target = Target::TensorRt;
  std::size_t quantizers = 0, dequantizers = 0;  // in the file, of activations; those of constants apart
  std::size_t stored_constants = 0;
  std::vector<PlacementFinding> findings;  // in graph order
  /// onnxruntime: what is left in its optimized graph, and operators that run on codes there.
  bool ran = false;
  std::size_t quantizers_left = 0, dequantizers_left = 0, integer_kernels = 0;
};

VERNIER_API std::string report_to_text(const CheckPlacementReport& report, const TextOptions& options);
VERNIER_API std::string report_to_json(const CheckPlacementReport& report);

}  // namespace vernier
