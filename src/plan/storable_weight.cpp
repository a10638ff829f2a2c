#include "plan/storable_weight.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "base/format_definition.h"
#include "base/text.h"
#include "model/operator_traits.h"
#include "plan/block_activations.h"
#include "plan/weight_blocks.h"
#include "vernier/tensor.h"

namespace vernier {

bool refuse(std::string* reason, std::string why) {
  if (reason != nullptr) *reason = std::move(why);
  return false;
}

bool can_store_weight(const Model& model, const onnx::NodeProto* node, Format format, Target target,
                      const QuantizationRules& rules, std::string* reason) {
  const auto weight = node == nullptr || node->input_size() < 2 ? std::nullopt : initializer(model, node->input(1));
  if (!weight || weight->dtype() != Dtype::Float32) return refuse(reason, "its second operand is not a constant");
  const int wanted = block_wanted(format, rules);
  if (wanted == 0) return true;
  const auto rank = static_cast<int>(weight->shape().size());
  const int summed = summed_axis(*node, rank);
  if (summed < 0) {
    return refuse(reason, fmt::format("its weight has shape {}, engines support block weights only in MatMul and Gemm",
                                      shape_text(weight->shape())));
  }
  const std::int64_t length = weight->shape()[static_cast<std::size_t>(summed)];
  const FormatDefinition& definition = definition_of(format);
  if (const int block = block_along(length, wanted, definition.block); block > 0) {
    const bool one_block = target == Target::TensorRt && element_count(weight->shape()) == block;
    return !one_block || refuse(reason, std::string(kOneBlockOfWeight));
  }
  return refuse(reason, fmt::format("it sums over {} values, not a multiple of {}", length,
                                    definition.block > 0 ? definition.block : 32));
}

bool can_quantize_in_runs(const Model& model, const onnx::NodeProto& node, Format format, std::string* reason) {
  if (attribute_int(node, "transA", 0) != 0) return refuse(reason, "it sums along another dimension than the last");
  if (format != Format::DynamicInt8) return true;
  if (initializer(model, node.input(1))->shape().size() != 2) return refuse(reason, "its weight is not a matrix");
  const bool scaled = attribute_float(node, "alpha", 1) != 1 || attribute_float(node, "beta", 1) != 1;
  return !scaled || refuse(reason, "MatMulInteger has no alpha and beta");
}

bool can_read_in_blocks(const std::map<std::string, ValueType>& types, const onnx::NodeProto& node, Format format,
                        Target target, const QuantizationRules& rules, std::string* reason) {
  const FormatDefinition& definition = definition_of(format);
  const bool asked = target == Target::TensorRt && definition.dynamic && definition.block > 0 && !rules.weights_only;
  const auto type = asked ? types.find(node.input(0)) : types.end();
  if (type == types.end()) return true;
  std::string why = refused_block_activation(type->second, format);
  return why.empty() || refuse(reason, std::move(why));
}

}  // namespace vernier
