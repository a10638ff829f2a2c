#include "jobs/diagnose/integer_sums.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "causes/cause.h"
#include "model/output_channels.h"
#include "numerics/grid.h"
#include "numerics/pair_sums.h"
#include "numerics/tensor_grid.h"
#include "plan/integer_bias.h"
#include "plan/weight_blocks.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Where the engine may sum pairs of products in 16 bits.
void add_pairs(Target target, const onnx::NodeProto& node, const Tensor& weight, const QuantParams& data,
               const QuantParams& grid, LayerFacts& facts) {
  const int rank = static_cast<int>(weight.shape().size());
  const int summed = node.op_type() == "Conv" ? 1 : summed_axis(node, rank);
  if (target != Target::OnnxRuntime || data.format != Format::UInt8 || summed < 0) return;
  const TensorFacts* values = causes::activation_of(facts);
  if (values == nullptr) return;
  std::vector<float> codes;
  for (const std::byte code : encode_tensor(grid, weight.shape(), weight.floats())) {
    codes.push_back(static_cast<float>(static_cast<std::int8_t>(code)));
  }
  facts.pairs_beyond_16_bits =
      pairs_beyond_16_bits(codes, geometry_along(weight.shape(), summed), values->values, data);
}

}  // namespace

void add_integer_sums(const Model& model, const Plan& plan, const onnx::NodeProto& node, LayerFacts& facts) {
  const auto data = plan.tensors.find(node.input(0));
  const auto grid = plan.tensors.find(node.input(1));
  if (data == plan.tensors.end() || grid == plan.tensors.end() || data->second.scale.size() != 1) return;
  if (!is_integer(data->second.format) || !is_integer(grid->second.format) || grid->second.block > 0) return;
  const std::optional<Tensor> weight = initializer(model, node.input(1));
  if (!weight || weight->dtype() != Dtype::Float32) return;
  const AxisGeometry geometry = geometry_along(weight->shape(), weight_axis(node, weight->shape()));
  const auto channels = static_cast<std::size_t>(geometry.channels);
  const auto scale = [&](std::size_t c) {
    const std::vector<float>& scales = grid->second.scale;
    return static_cast<double>(scales[scales.size() == channels ? c : 0]);
  };
  std::vector<double> sums(channels), largest(channels);
  for (std::size_t i = 0; i < weight->floats().size(); ++i) {
    const std::size_t c = i / static_cast<std::size_t>(geometry.inner) % channels;
    const double value = std::abs(static_cast<double>(weight->floats()[i]));
    sums[c] += value / scale(c);
    largest[c] = std::max(largest[c], value);
  }
  facts.largest_sum = std::ranges::max(sums) * code_range(data->second.format).highest;
  add_pairs(plan.target, node, *weight, data->second, grid->second, facts);
  if (!stores_integer_bias(plan, facts.format) || node.input_size() < 3) return;
  const std::optional<Tensor> bias = initializer(model, node.input(2));
  if (!bias || bias->dtype() != Dtype::Float32 || bias->count() != static_cast<std::int64_t>(channels)) return;
  const double whole = std::ranges::max(largest);
  double steps = 0;
  for (std::size_t c = 0; c < channels; ++c) {
    const double reach = grid->second.scale.size() == channels ? largest[c] : whole;
    const double step =
        static_cast<double>(data->second.scale.front()) * reach / code_range(grid->second.format).highest;
    if (step > 0) steps = std::max(steps, std::abs(static_cast<double>(bias->floats()[c])) / step);
  }
  facts.bias_steps = steps;
}

}  // namespace vernier
