#include "plan/rounding_pairs.h"

#include <array>
#include <cstdint>

#include "base/format_definition.h"
#include "model/tensorrt_operators.h"
#include "numerics/grid.h"
#include "plan/constant_codes.h"
#include "plan/normalized_file.h"
#include "plan/typed_weights.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

std::optional<QuantParams> grid_of_pair(const Model& file, const onnx::NodeProto& quantize, ValueType codes,
                                        const std::vector<const onnx::NodeProto*>& readers) {
  const auto params = quantization_of(file, quantize, codes);
  if (!params || (params->block > 0 && !is_initializer(file, quantize.input(0)))) return std::nullopt;
  codes.dtype = dtype_of_format(params->format);
  for (const onnx::NodeProto* reader : readers) {
    if (!is_quantization(*reader, "DequantizeLinear") || quantization_of(file, *reader, codes) != params) {
      return std::nullopt;
    }
  }
  return params;
}

std::optional<QuantParams> grid_in_run(const Model& file, const onnx::NodeProto& node, int rank) {
  const bool with_tensor_scale = is_tensorrt(node, kQuantizeNvFp4);
  if (!with_tensor_scale && !is_tensorrt(node, kQuantizeMxFp8)) return std::nullopt;
  if (node.output_size() != 2 || node.input_size() < (with_tensor_scale ? 2 : 1)) return std::nullopt;
  const auto scale = with_tensor_scale ? initializer(file, node.input(1)) : Tensor::of({}, std::array{1.0F});
  if (!scale || scale->count() != 1) return std::nullopt;
  QuantParams params;
  params.format = with_tensor_scale ? Format::NvFp4 : Format::MxFp8;
  params.block = definition_of(params.format).block;
  params.scale = scales_of(*scale);
  params.dynamic = true;
  const std::int64_t axis = attribute_int(node, "axis", -1);
  const bool last = axis == -1 || axis + 1 == rank;
  if (!last || attribute_int(node, "block_size", params.block) != params.block || !is_usable_scale(params.scale[0])) {
    return std::nullopt;
  }
  return params;
}

}  // namespace vernier
