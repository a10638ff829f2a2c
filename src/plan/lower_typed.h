// Plan + prepared model -> a strongly typed ONNX model: Casts at the borders of regions, weights stored in their
// format, QuantizeLinear / DequantizeLinear pairs around the inputs of quantized layers. Graph inputs and outputs keep
// their type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "base/progress.h"
#include "model/model.h"
#include "plan/plan.h"
#include "vernier/note.h"
#include "vernier/report/typed.h"

namespace vernier {

struct TypedModel {
  Model model;
  std::int64_t casts = 0;           // Cast nodes added
  std::int64_t quantize_pairs = 0;  // pairs added; a weight counts with its DequantizeLinear alone
  std::int64_t quantized_weights = 0, quantized_biases = 0;  // of these
  std::int64_t weight_bytes = 0;                             // of all initializers afterwards
  std::vector<LargeFloatWeight> float_weights;
  /// Layers that could not take their format and why; weights that overflow in it.
  std::vector<Note> notes;
  std::size_t lowered = 0;        // layers of the plan that are in a format below float32
  std::set<std::string> refused;  // layers of the plan that could not take their format and stay float32
  /// Layers of which TensorRT-RTX would lose a limit if they were not written otherwise (engine_limits.h).
  std::vector<std::string> spelled_limits;
};

/// New tensors are named after the old: `x.float16` (the name `x` stays with the float32 version, where one is needed),
/// `x_QuantizeLinear_Output`, `x_DequantizeLinear_Output`, `w_quantized`, `w_scale`, `w_zero_point`: as ONNX Runtime's
/// quantizer names them, so that its qdq_loss_debug finds them.
///
/// Errors: Usage when `strict` and a layer cannot take its format (schema, a missing range), saying why; otherwise such
/// a layer stays in float32 and is listed in notes. Internal when the opset is too low for the plan (prepare raises
/// it). The result passes the ONNX checker, and is signed (signature.h).
TypedModel lower_typed(const Model& prepared, const Plan& plan, bool strict, const Progress& progress = {});

}  // namespace vernier
