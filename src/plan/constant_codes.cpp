#include "plan/constant_codes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/elements.h"
#include "base/format_definition.h"
#include "base/nibbles.h"
#include "numerics/grid.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

bool all_powers_of_two(const std::vector<float>& scales) {
  return std::ranges::all_of(scales, [](float scale) {
    int exponent = 0;
    return std::frexp(scale, &exponent) == 0.5F;
  });
}

/// The format whose elements, blocks and scales these are.
std::optional<Format> format_of_codes(Dtype dtype, int block, const std::vector<float>& scales) {
  std::optional<Format> found;
  for (const FormatDefinition& row : format_definitions()) {
    if (!row.scaled || row.stored != dtype || row.format == Format::DynamicInt8) continue;
    const bool fits =
        row.block == block && row.block > 0 && (row.block_scale != BlockScale::E8M0 || all_powers_of_two(scales));
    if (fits) return row.format;
    if (!found) found = row.format;
  }
  return found;
}

bool has_input(const onnx::NodeProto& node, int index) {
  return index < node.input_size() && !node.input(index).empty();
}

/// Element type of the codes: of the zero point, else of the quantized tensor, else what the node's attribute says.
Dtype codes_type(const Model& model, const onnx::NodeProto& node, const ValueType& codes) {
  if (has_input(node, 2)) {
    const auto zero = initializer(model, node.input(2));
    return zero ? zero->dtype() : Dtype::Undefined;
  }
  const std::int64_t attribute = attribute_int(node, "output_dtype", 0);
  if (node.op_type() == "QuantizeLinear" && attribute != 0) return static_cast<Dtype>(attribute);
  if (codes.dtype != Dtype::Undefined) return codes.dtype;
  return node.op_type() == "QuantizeLinear" ? Dtype::UInt8 : Dtype::Undefined;
}

/// Codes of 4 bits in one byte each.
std::vector<std::byte> unpacked(const Tensor& codes) {
  if (dtype_bits(codes.dtype()) != 4) return {codes.bytes().begin(), codes.bytes().end()};
  const bool is_signed = codes.dtype() == Dtype::Int4;
  std::vector<std::byte> bytes(static_cast<std::size_t>(codes.count()));
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(nibble(codes.bytes(), i, is_signed));
  return bytes;
}

std::vector<std::int32_t> zero_points_of(const Tensor& zero) {
  std::vector<std::int64_t> room;
  const auto values = read_block(zero, 0, static_cast<std::size_t>(zero.count()), room);
  return {values.begin(), values.end()};
}

bool supported_scale(const Tensor& scale) {
  return (scale.dtype() == Dtype::Float32 || scale.dtype() == Dtype::Float16 || scale.dtype() == Dtype::BFloat16) &&
         scale.count() > 0;
}

bool all_steps(const QuantParams& params) {
  return std::ranges::all_of(
      params.scale, [&](float scale) { return is_usable_scale(scale) || scale_defect(scale, params.format).empty(); });
}

/// The dimension that several scales run along, counted from the front; -1 for one scale. Empty when it cannot be told.
std::optional<int> axis_of(const onnx::NodeProto& node, std::size_t scales, const ValueType& codes) {
  if (scales == 1) return -1;
  std::int64_t axis = attribute_int(node, "axis", 1);
  const auto rank = static_cast<std::int64_t>(codes.shape.size());
  if (axis < 0 && codes.rank_known) axis += rank;
  if (axis < 0 || (codes.rank_known && axis >= rank)) return std::nullopt;
  return static_cast<int>(axis);
}

/// True when scales of `scales` lie on a tensor of `codes` in the blocks of `params`.
bool blocks_of(const ValueType& codes, const QuantParams& params, const Shape& scales) {
  return codes.rank_known && std::ranges::all_of(codes.shape, [](std::int64_t dim) { return dim > 0; }) &&
         scale_shape(params, codes.shape) == scales;
}

/// A bias: its values are exact products.
std::optional<Tensor> dequantized_bias(const Model& model, const onnx::NodeProto& node, const Tensor& codes,
                                       const ValueType& type) {
  const auto scale = initializer(model, node.input(1));
  if (!scale || !supported_scale(*scale) || attribute_int(node, "block_size", 0) != 0) return std::nullopt;
  if (scale->shape().size() > 1) return std::nullopt;
  const std::vector<float> scales = scales_of(*scale);
  const auto axis = axis_of(node, scales.size(), type);
  if (!axis) return std::nullopt;
  const AxisGeometry g = geometry_along(codes.shape(), *axis);
  if (g.channels != static_cast<std::int64_t>(scales.size())) return std::nullopt;
  std::vector<std::int64_t> room, zero_room;
  const auto integers = read_block(codes, 0, static_cast<std::size_t>(codes.count()), room);
  // ONNX allows none but 0. A runtime that takes another one subtracts it.
  std::optional<Tensor> zero;
  if (has_input(node, 2)) zero = initializer(model, node.input(2));
  if (zero && (zero->dtype() != Dtype::Int32 || zero->count() != g.channels)) return std::nullopt;
  const auto zeros = zero ? read_block(*zero, 0, scales.size(), zero_room) : std::span<const std::int64_t>();
  Tensor values(Dtype::Float32, codes.shape());
  const std::span<float> out = values.mutable_floats();
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t channel = i / static_cast<std::size_t>(g.inner) % scales.size();
    out[i] = static_cast<float>(integers[i] - (zeros.empty() ? 0 : zeros[channel])) * scales[channel];
  }
  return values;
}

}  // namespace

std::vector<float> scales_of(const Tensor& scale) {
  if (scale.dtype() == Dtype::Float32) return {scale.floats().begin(), scale.floats().end()};
  QuantParams half;
  half.format = scale.dtype() == Dtype::BFloat16 ? Format::BFloat16 : Format::Float16;
  return decode(half, 1, scale.count(), scale.bytes());
}

std::optional<QuantParams> quantization_of(const Model& model, const onnx::NodeProto& node, const ValueType& codes) {
  if (node.input_size() < 2) return std::nullopt;
  const auto scale = initializer(model, node.input(1));
  if (!scale || !supported_scale(*scale)) return std::nullopt;
  QuantParams params;
  params.scale = scales_of(*scale);
  const std::int64_t block = attribute_int(node, "block_size", 0);
  if (block < 0 || block > std::numeric_limits<int>::max()) return std::nullopt;
  params.block = static_cast<int>(block);
  const auto format = format_of_codes(codes_type(model, node, codes), params.block, params.scale);
  if (!format) return std::nullopt;
  params.format = *format;
  const auto axis = axis_of(node, params.block > 0 ? 2 : params.scale.size(), codes);
  if (!axis || !all_steps(params)) return std::nullopt;
  params.axis = *axis;
  if (params.block == 0 ? scale->shape().size() > 1 : !blocks_of(codes, params, scale->shape())) return std::nullopt;
  if (!is_integer(*format)) {
    const bool saturates = node.op_type() != "QuantizeLinear" || attribute_int(node, "saturate", 1) != 0;
    return saturates ? std::optional(params) : std::nullopt;
  }
  if (has_input(node, 2)) {
    params.zero_point = zero_points_of(*initializer(model, node.input(2)));
    if (params.zero_point.size() != params.scale.size()) return std::nullopt;
  }
  if (std::ranges::all_of(params.zero_point, [](std::int32_t zero) { return zero == 0; })) params.zero_point.clear();
  return params;
}

std::optional<Tensor> dequantized_constant(const Model& model, const onnx::NodeProto& node) {
  if (node.input_size() < 2) return std::nullopt;
  const auto codes = initializer(model, node.input(0));
  if (!codes) return std::nullopt;
  const ValueType type{codes->dtype(), true, codes->shape()};
  if (codes->dtype() == Dtype::Int32) return dequantized_bias(model, node, *codes, type);
  const auto params = quantization_of(model, node, type);
  if (!params) return std::nullopt;
  if (!scales_fit(*params, codes->shape())) return std::nullopt;
  return Tensor::of(codes->shape(), decode_tensor(*params, codes->shape(), unpacked(*codes)));
}

}  // namespace vernier
