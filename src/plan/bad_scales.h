// Scales of quantized values that no quantizer means: zero, negative, subnormal, infinite or NaN.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/qdq_defects.h"

namespace vernier {

/// The inputs of `node` that are scales of quantized values: of QuantizeLinear and DequantizeLinear, of operators that
/// compute on quantized values, and of those that store a weight (MatMulNBits).
std::vector<int> scale_inputs(const onnx::NodeProto& node);

/// One "bad-scale" or "negative-scale" at most for each constant scale that `node` reads. Also of a Mul that scales the
/// sums of a MatMulInteger or ConvInteger, or a weight that a Cast decodes. `made_by`: the node of each tensor;
/// `decoded`: as decoded_weights() gives it.
std::vector<QdqDefect> bad_scales(const Model& file, const std::map<std::string, const onnx::NodeProto*>& made_by,
                                  const std::set<std::string>& decoded, const onnx::NodeProto& node);

}  // namespace vernier
