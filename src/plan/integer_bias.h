// Biases of integer kernels: sums of products of codes are whole multiples of input step times weight step, and the
// bias is stored as such a multiple, in 32 bits.
#pragma once

#include <onnx/onnx_pb.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/model.h"
#include "plan/plan.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {

struct IntegerBias {
  int input = 2;              // which input of the node it is
  std::vector<float> scales;  // step of the input times step of the weight: one, or one for each output channel
};

/// True when layers in `format` store their bias in 32 bits: as the rules say, else with integer kernels.
bool stores_integer_bias(const Plan& plan, Format format);

/// Steps of the bias of `node`, whose data and weight have grids in the plan. Empty when there is nothing to store in
/// 32 bits: no constant bias [channels], a Gemm that scales its products or its bias, a step too small for a normal
/// float32, a multiple beyond +-2^30 (room for the sum that it is added to). Such a bias stays in float.
std::optional<IntegerBias> integer_bias(const Model& model, const onnx::NodeProto& node, Format format,
                                        const Plan& plan);

/// The first channel of a stored bias whose scale is no product of the others: a kernel cannot add its codes as they
/// are.
struct OtherBiasScale {
  std::size_t channel = 0;
  float given = 0, wanted = 0;
};
/// What a Gemm, alpha (data weight) + beta bias, divides the scale of its bias by: alpha / beta; else 1.
float bias_factor(const onnx::NodeProto& node);
/// The product is that of the scales of data and weight, times bias_factor(). With another beta than 1 no kernel adds
/// the codes as they are, so that the product alone is right, too. `weights` and `biases`: one scale, or one for each
/// output channel. Empty when all are, within a few roundings of float32, when the numbers of scales fit no layer, or
/// when beta is 0.
std::optional<OtherBiasScale> other_bias_scale(const onnx::NodeProto& node, float data, std::span<const float> weights,
                                               std::span<const float> biases);
/// That product in words: "input scale times weight scale".
std::string bias_scale_words(const onnx::NodeProto& node);

/// Codes of a bias [channels]: rne(b / s).
std::vector<std::int32_t> bias_codes(const Tensor& bias, const std::vector<float>& scales);

/// What is left of the bias: code times step, in float32, as DequantizeLinear computes it.
Tensor rounded_bias(const Tensor& bias, const std::vector<float>& scales);

/// The smallest weight steps that let the bias fit: |b| / (input step 2^30), by output channel; zeros without a bias.
/// A channel whose weights are nearly zero beside its bias needs them: its own steps would be too fine.
std::vector<float> least_weight_scales(const Model& model, const onnx::NodeProto& node, float input_scale,
                                       std::size_t channels);

}  // namespace vernier
