// What a format asks of the weight of a layer, and of how the layer reads its data.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>

#include "model/model.h"
#include "vernier/format.h"
#include "vernier/quantization.h"

namespace vernier {

/// False, with `why` in `reason` unless that is null.
bool refuse(std::string* reason, std::string why);

/// Can the second operand of a layer be stored in `format`, in blocks if the format has them?
bool can_store_weight(const Model& model, const onnx::NodeProto* node, Format format, const QuantizationRules& rules,
                      std::string* reason);

/// What the scales of each run ask of a layer: data that is summed along its last dimension, and of MatMulInteger a
/// matrix as the weight.
bool can_quantize_in_runs(const Model& model, const onnx::NodeProto& node, Format format, std::string* reason);

}  // namespace vernier
