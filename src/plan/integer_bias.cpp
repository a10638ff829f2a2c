#include "plan/integer_bias.h"

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "plan/target.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

constexpr float kLargestCode = 1073741824.0F;  // 2^30

/// The constant bias vector of a Conv or Gemm whose sums are those of its codes.
std::optional<Tensor> bias_vector(const Model& model, const onnx::NodeProto& node) {
  const bool gemm = node.op_type() == "Gemm";
  if ((!gemm && node.op_type() != "Conv") || node.input_size() < 3 || node.input(2).empty()) return std::nullopt;
  if (gemm && (attribute_float(node, "alpha", 1) != 1 || attribute_float(node, "beta", 1) != 1)) return std::nullopt;
  std::optional<Tensor> bias = initializer(model, node.input(2));
  if (!bias || bias->dtype() != Dtype::Float32 || bias->shape().size() != 1) return std::nullopt;
  return bias;
}

float scale_at(const std::vector<float>& scales, std::size_t channel) {
  return scales[scales.size() == 1 ? 0 : channel];
}

}  // namespace

bool stores_integer_bias(const Plan& plan, Format format) {
  if (plan.weights_alone(format)) return false;
  return plan.rules.integer_bias.value_or(scaled_scheme(plan.target, format).integer_kernels);
}

std::optional<IntegerBias> integer_bias(const Model& model, const onnx::NodeProto& node, Format format,
                                        const Plan& plan) {
  const std::optional<Tensor> bias = bias_vector(model, node);
  if (!bias) return std::nullopt;
  const QuantParams* const data = plan.grid(node.input(0), format);
  const QuantParams* const weight = plan.grid(node.input(1), format);
  if (data == nullptr || weight == nullptr || data->scale.size() != 1) return std::nullopt;
  IntegerBias grid;
  for (const float scale : weight->scale) grid.scales.push_back(data->scale.front() * scale);
  const std::span<const float> values = bias->floats();
  if (grid.scales.size() != 1 && grid.scales.size() != values.size()) return std::nullopt;
  for (std::size_t c = 0; c < values.size(); ++c) {
    const float step = scale_at(grid.scales, c);
    // A little above 2^30: least_weight_scales aims at it, and rounds.
    if (!(step >= FLT_MIN) || !(std::abs(values[c] / step) <= 1.001F * kLargestCode)) return std::nullopt;
  }
  return grid;
}

float bias_factor(const onnx::NodeProto& node) {
  if (node.op_type() != "Gemm") return 1;
  return attribute_float(node, "alpha", 1) / attribute_float(node, "beta", 1);
}

std::optional<OtherBiasScale> other_bias_scale(const onnx::NodeProto& node, float data, std::span<const float> weights,
                                               std::span<const float> biases) {
  constexpr float kFewRoundings = 1e-5F;
  const float factor = bias_factor(node);
  if (std::isinf(factor)) return std::nullopt;
  const bool any_beta = node.op_type() == "Gemm" && attribute_float(node, "beta", 1) != 1;
  for (std::size_t c = 0; c < biases.size(); ++c) {
    if (weights.size() != 1 && weights.size() != biases.size()) return std::nullopt;
    const float product = data * weights[weights.size() == 1 ? 0 : c], wanted = factor * product;
    const auto is = [&](float scale) { return std::abs(biases[c] - scale) <= kFewRoundings * scale; };
    if (!is(wanted) && !(any_beta && is(product))) return OtherBiasScale{c, biases[c], wanted};
  }
  return std::nullopt;
}

std::string bias_scale_words(const onnx::NodeProto& node) {
  return std::string("input scale times weight scale") + (bias_factor(node) == 1 ? "" : " times alpha / beta");
}

std::vector<std::int32_t> bias_codes(const Tensor& bias, const std::vector<float>& scales) {
  const std::span<const float> values = bias.floats();
  std::vector<std::int32_t> codes(values.size());
  for (std::size_t c = 0; c < values.size(); ++c) {
    codes[c] = static_cast<std::int32_t>(std::nearbyint(values[c] / scale_at(scales, c)));
  }
  return codes;
}

Tensor rounded_bias(const Tensor& bias, const std::vector<float>& scales) {
  const std::vector<std::int32_t> codes = bias_codes(bias, scales);
  Tensor rounded(Dtype::Float32, bias.shape());
  for (std::size_t c = 0; c < codes.size(); ++c) {
    rounded.mutable_floats()[c] = static_cast<float>(codes[c]) * scale_at(scales, c);
  }
  return rounded;
}

std::vector<float> least_weight_scales(const Model& model, const onnx::NodeProto& node, float input_scale,
                                       std::size_t channels) {
  std::vector<float> least(channels, 0.0F);
  const std::optional<Tensor> bias = bias_vector(model, node);
  if (!bias) return least;
  const std::span<const float> values = bias->floats();
  for (std::size_t c = 0; c < values.size(); ++c) {
    float& scale = least[channels == values.size() ? c : 0];
    scale = std::max(scale, std::abs(values[c]) / (input_scale * kLargestCode));
  }
  return least;
}

}  // namespace vernier
