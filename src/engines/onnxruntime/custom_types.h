// What custom operators give: types that ONNX's inference cannot know, and ONNX Runtime can.
#pragma once

#include "engines/onnxruntime/runtime.h"
#include "model/model.h"

namespace vernier {

/// Annotates the outputs of custom operators (is_custom()), bodies included, with the element types and ranks that the
/// runtime infers; infer_types() believes these. Operators that the runtime does not take alone stay as they are.
/// Cost: inference and a session for each of them; none where there are none.
void learn_custom_types(const Runtime& runtime, Model& model);

}  // namespace vernier
