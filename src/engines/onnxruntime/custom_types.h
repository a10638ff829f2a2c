// What operators that ONNX does not define give: types that ONNX's inference cannot know, and ONNX Runtime can.
#pragma once

#include "engines/onnxruntime/runtime.h"
#include "model/model.h"

namespace vernier {

/// Whether learn_custom_types() would have something to do.
bool holds_unknown_operators(const Model& model);

/// Annotates the outputs of operators that ONNX does not define (unknown_to_onnx()), bodies included, with the element
/// types and ranks that the runtime infers; infer_types() believes these. Operators that the runtime does not take
/// alone stay as they are. Cost: inference and a session for each of them; none where there are none.
void learn_custom_types(const Runtime& runtime, Model& model);

}  // namespace vernier
