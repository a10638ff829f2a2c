// What a format asks of the weight of a layer, and of how the layer reads its data.
#pragma once

#include <onnx/onnx_pb.h>

#include <map>
#include <string>

#include "model/model.h"
#include "vernier/format.h"
#include "vernier/quantization.h"
#include "vernier/target.h"

namespace vernier {

/// False, with `why` in `reason` unless that is null.
bool refuse(std::string* reason, std::string why);

/// Can the second operand of a layer be stored in `format`, in blocks if the format has them?
bool can_store_weight(const Model& model, const onnx::NodeProto* node, Format format, Target target,
                      const QuantizationRules& rules, std::string* reason);

/// What the scales of each run ask of a layer: data that is summed along its last dimension, and of MatMulInteger a
/// matrix as the weight.
bool can_quantize_in_runs(const Model& model, const onnx::NodeProto& node, Format format, std::string* reason);

/// Of a layer whose data gets its scales in blocks in each run: does the target's engine take data of these shapes?
bool can_read_in_blocks(const std::map<std::string, ValueType>& types, const onnx::NodeProto& node, Format format,
                        Target target, const QuantizationRules& rules, std::string* reason);

}  // namespace vernier
