// Plan + prepared model -> a strongly typed ONNX model: Casts at the borders of regions, weights stored in their
// format, QuantizeLinear / DequantizeLinear pairs around the inputs of quantized layers. Graph inputs and outputs keep
// their type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"

namespace vernier {

struct TypedModel {
  Model model;
  std::int64_t casts = 0;  // Cast nodes added
  std::int64_t quantize_pairs =
      0;  // QuantizeLinear / DequantizeLinear pairs added (weights count their DequantizeLinear)
  std::int64_t weight_bytes = 0;   // of all initializers afterwards
  std::vector<std::string> notes;  // layers that could not take their format and why
};

/// Errors: Usage when `strict` and a layer cannot take its format (schema, opset, a missing range), saying why;
/// otherwise such a layer stays in float32 and is listed in notes. The result passes the ONNX checker.
TypedModel lower_typed(const Model& prepared, const Plan& plan, bool strict);

}  // namespace vernier
