// What a typed model that was written holds.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "vernier/onnx_model.h"

namespace vernier {

struct TypedReport {
  std::string file;  // where it was written; empty: nowhere
  std::int64_t casts = 0;
  std::int64_t quantize_pairs = 0;
  std::int64_t weight_bytes = 0, original_weight_bytes = 0;
  std::vector<std::string> notes;
  OnnxModel model{};   // the result itself; not in the JSON
  std::string plan{};  // as plan.json has it; not in the JSON
};

}  // namespace vernier
