#include "plan/weight_blocks.h"

#include <cstddef>

#include "base/format_definition.h"
#include "model/output_channels.h"
#include "numerics/tensor_grid.h"

namespace vernier {

int summed_axis(const onnx::NodeProto& node, int rank) {
  if (rank != 2 || (node.op_type() != "Gemm" && node.op_type() != "MatMul")) return -1;
  return 1 - weight_axis(node, {1, 1});
}

Format weight_format(Format format, const QuantizationRules& rules) {
  switch (format) {
    case Format::UInt8:  // engines take no other weights
    case Format::DynamicInt8:
      return Format::Int8;
    case Format::Int16:
    case Format::UInt16:
      return rules.weight_bits == 4 ? Format::Int4 : Format::Int8;
    default:
      return format;
  }
}

QuantParams transposed_params(const QuantParams& params, const Shape& shape) {
  QuantParams turned = params;
  if (params.axis < 0) return turned;
  turned.axis = 1 - params.axis;
  if (params.block == 0) return turned;
  const Shape scales = scale_shape(params, shape);
  const auto rows = static_cast<std::size_t>(scales[0]), columns = static_cast<std::size_t>(scales[1]);
  for (std::size_t i = 0; i < params.scale.size(); ++i) {
    const std::size_t place = i % columns * rows + i / columns;
    turned.scale[place] = params.scale[i];
    if (!params.zero_point.empty()) turned.zero_point[place] = params.zero_point[i];
  }
  return turned;
}

int block_wanted(Format format, const QuantizationRules& rules) {
  const Format stored = weight_format(format, rules);
  if (stored == Format::Int4 || stored == Format::UInt4) return rules.block_size;
  return definition_of(stored).block;
}

int block_along(std::int64_t length, int wanted, int fixed) {
  if (fixed > 0) return length > 0 && length % fixed == 0 ? fixed : 0;
  for (int block = wanted; block >= 32; block /= 2) {
    if (length > 0 && length % block == 0) return block;
  }
  return 0;
}

}  // namespace vernier
