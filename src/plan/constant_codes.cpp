#include "plan/constant_codes.h"

#include <algorithm>
#include <cstring>

namespace vernier {
namespace {

std::optional<Format> format_of_codes(Dtype dtype) {
  switch (dtype) {
    case Dtype::Int8: return Format::Int8;
    case Dtype::UInt8: return Format::UInt8;
    case Dtype::Float8E4M3FN: return Format::Float8E4M3FN;
    case Dtype::Float8E5M2: return Format::Float8E5M2;
    default: return std::nullopt;
  }
}

/// Element type of the codes: of the zero point, else of the constant input, else what the node's attribute says.
Dtype codes_type(const Model& model, const onnx::NodeProto& node) {
  if (node.input_size() > 2 && !node.input(2).empty()) {
    const auto zero = initializer(model, node.input(2));
    return zero ? zero->dtype() : Dtype::Undefined;
  }
  if (node.op_type() == "DequantizeLinear") {
    if (const auto codes = initializer(model, node.input(0))) return codes->dtype();
  }
  const std::int64_t attribute = attribute_int(node, "output_dtype", 0);
  return node.op_type() == "QuantizeLinear" && attribute != 0 ? static_cast<Dtype>(attribute) : Dtype::UInt8;
}

std::vector<float> scales_of(const Tensor& scale) {
  if (scale.dtype() == Dtype::Float32) return {scale.floats().begin(), scale.floats().end()};
  QuantParams half;
  half.format = scale.dtype() == Dtype::BFloat16 ? Format::BFloat16 : Format::Float16;
  return decode(half, 1, scale.count(), scale.bytes());
}

std::vector<std::int32_t> zero_points_of(const Tensor& zero) {
  std::vector<std::int32_t> values;
  for (const std::byte code : zero.bytes()) {
    const auto raw = static_cast<std::uint8_t>(code);
    values.push_back(zero.dtype() == Dtype::Int8 ? static_cast<std::int8_t>(raw) : raw);
  }
  return values;
}

bool supported_scale(const Tensor& scale) {
  return scale.dtype() == Dtype::Float32 || scale.dtype() == Dtype::Float16 || scale.dtype() == Dtype::BFloat16;
}

}  // namespace

std::optional<QuantParams> quantization_of(const Model& model, const onnx::NodeProto& node) {
  if (node.input_size() < 2 || attribute_int(node, "block_size", 0) != 0) return std::nullopt;
  const auto scale = initializer(model, node.input(1));
  const auto format = format_of_codes(codes_type(model, node));
  if (!scale || !format || !supported_scale(*scale) || scale->shape().size() > 1) return std::nullopt;
  QuantParams params;
  params.format = *format;
  params.scale = scales_of(*scale);
  params.axis = params.scale.size() > 1 ? static_cast<int>(attribute_int(node, "axis", 1)) : -1;
  if (params.axis < -1) return std::nullopt;  // counted from the end: the rank is needed, ONNX Runtime knows it
  if (node.input_size() > 2 && !node.input(2).empty() && (*format == Format::Int8 || *format == Format::UInt8)) {
    const auto zero = initializer(model, node.input(2));
    if (!zero) return std::nullopt;
    params.zero_point = zero_points_of(*zero);
    if (std::all_of(params.zero_point.begin(), params.zero_point.end(), [](std::int32_t z) { return z == 0; })) {
      params.zero_point.clear();
    }
  }
  return params;
}

std::optional<Tensor> dequantized_constant(const Model& model, const onnx::NodeProto& node) {
  const auto codes = initializer(model, node.input(0));
  if (!codes || attribute_int(node, "block_size", 0) != 0) return std::nullopt;
  const auto scale = initializer(model, node.input(1));
  if (!scale || !supported_scale(*scale)) return std::nullopt;
  const std::vector<float> scales = scales_of(*scale);
  std::int64_t axis = scales.size() > 1 ? attribute_int(node, "axis", 1) : -1;
  if (scales.size() > 1 && axis < 0) axis += static_cast<std::int64_t>(codes->shape().size());
  std::int64_t channels = 1;
  std::int64_t inner = codes->count();
  if (axis >= 0) {
    channels = codes->shape().at(static_cast<std::size_t>(axis));
    inner = 1;
    for (auto i = static_cast<std::size_t>(axis) + 1; i < codes->shape().size(); ++i) inner *= codes->shape()[i];
    if (channels != static_cast<std::int64_t>(scales.size())) return std::nullopt;
  }
  if (codes->dtype() == Dtype::Int32) {
    Tensor values(Dtype::Float32, codes->shape());
    const std::span<float> out = values.mutable_floats();
    for (std::size_t i = 0; i < out.size(); ++i) {
      std::int32_t code = 0;
      std::memcpy(&code, codes->bytes().data() + i * sizeof(code), sizeof(code));
      const auto channel = static_cast<std::size_t>(static_cast<std::int64_t>(i) / inner % channels);
      out[i] = static_cast<float>(code) * scales[scales.size() > 1 ? channel : 0];
    }
    return values;
  }
  auto params = quantization_of(model, node);
  if (!params || codes->dtype() == Dtype::Int4) return std::nullopt;
  if (scales.size() > 1) params->axis = static_cast<int>(axis);
  return Tensor::of(codes->shape(), decode(*params, channels, inner, codes->bytes()));
}

}  // namespace vernier
