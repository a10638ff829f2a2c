// Which formats a layer can run in under a target.
#pragma once

#include <string>

#include "model/layers.h"
#include "model/model.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/target.h"

namespace vernier {

/// True when the layer can run in `format` under `target`: scaled formats take the operators of the target's scheme
/// (target.h), float16 and bfloat16 whatever the ONNX schema admits. `reason` says why not.
bool can_take(const Model& model, const Layer& layer, Format format, Target target, std::string* reason = nullptr,
              const QuantizationRules& rules = {});

/// The same where the layer's node is known: looking it up takes time in the number of nodes. Null: there is none.
bool can_take(const Model& model, const Layer& layer, const onnx::NodeProto* node, Format format, Target target,
              std::string* reason = nullptr, const QuantizationRules& rules = {});

}  // namespace vernier
