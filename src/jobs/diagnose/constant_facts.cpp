#include "jobs/diagnose/constant_facts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "causes/cause.h"
#include "model/output_channels.h"
#include "numerics/distribution.h"
#include "numerics/grid.h"
#include "numerics/lattice.h"
#include "numerics/tensor_grid.h"
#include "vernier/tensor.h"

namespace vernier {

namespace {

OutputChannels one_channel(const Tensor& weight) {
  const auto count = static_cast<std::size_t>(weight.count());
  return {1, 1, count, count};
}

/// Noise over signal of `count` Gaussian values on such a grid.
double gaussian_noise(const QuantParams& params, std::int64_t count) {
  if (params.scale.empty() || count == 0) return 0;
  const auto each = static_cast<std::size_t>(count) / params.scale.size();
  if (is_integer(params.format)) {
    return causes::gaussian_peak(each) / std::pow(code_range(params.format).highest, 2) / 12;
  }
  return std::pow(causes::epsilon_of(params.format), 2) / 12;  // where a binade begins: no more than that
}

}  // namespace

std::optional<Mask> mask_alone(const Distribution& values) {
  Mask mask;
  bool zeros = false;
  for (const Bin& bin : values.bins) {
    if (bin.low == 0 && bin.high == 0) {
      zeros = true;
    } else if (bin.high > -kNoMask) {
      return std::nullopt;
    } else {
      mask.high = mask.count == 0 ? bin.high : std::max(mask.high, bin.high);
      mask.count += bin.count;
    }
  }
  mask.low = values.min;
  if (mask.count == 0 || (!zeros && mask.high > -0.99F * kLargestFloat16)) return std::nullopt;
  return mask;
}

TensorFacts constant_facts(const Model& model, const Plan& plan, const std::string& name, const onnx::NodeProto& node,
                           bool weight) {
  TensorFacts tensor;
  tensor.name = name;
  tensor.constant = true;
  tensor.weight = weight;
  const Tensor value = *initializer(model, name);
  if (value.dtype() != Dtype::Float32) return tensor;
  ValueHistogram histogram;
  histogram.add(value.floats());
  tensor.infinite = histogram.range().nonfinite;
  tensor.values = distribution_of(histogram);
  if (!weight) tensor.mask = take_mask(tensor.values);
  // A mask of -inf, and one that is the whole constant, stand for "never" as well.
  if (!tensor.mask && !weight && (tensor.infinite > 0 || tensor.values.min < -kLargestFloat16)) {
    tensor.mask = Mask{tensor.infinite > 0 ? -INFINITY : tensor.values.min, tensor.values.min, value.count(), 0};
  }
  if (!tensor.mask && !weight) tensor.mask = mask_alone(tensor.values);
  const auto grid = plan.tensors.find(name);
  if (grid == plan.tensors.end()) return tensor;
  tensor.grid = grid->second;
  if (!weight) return tensor;
  if (const auto lattice = lattice_of(value.floats())) tensor.lattice = lattice->step;
  std::vector<float> rounded(value.floats().size());
  round_tensor(grid->second, value.shape(), value.floats(), rounded);
  const OutputChannels channels = output_channels(node, value.shape()).value_or(one_channel(value));
  const QuantParams& params = grid->second;
  const bool per_axis = params.scale.size() > 1 && params.block == 0;
  const AxisGeometry geometry = geometry_along(value.shape(), params.axis);
  tensor.channels.resize(channels.count);
  if (per_axis) tensor.channel_scale.resize(channels.count);
  std::vector<double> noise(channels.count);
  std::vector<double> signal(channels.count);
  for (std::size_t i = 0; i < rounded.size(); ++i) {
    const std::size_t c = channels.of(i);
    tensor.channels[c] = std::max(tensor.channels[c], std::abs(value.floats()[i]));
    if (per_axis) {
      tensor.channel_scale[c] =
          i / static_cast<std::size_t>(geometry.inner) % static_cast<std::size_t>(geometry.channels);
    }
    noise[c] += std::pow(static_cast<double>(value.floats()[i]) - static_cast<double>(rounded[i]), 2);
    signal[c] += std::pow(static_cast<double>(value.floats()[i]), 2);
  }
  tensor.scales = params.scale.size();
  tensor.gaussian_noise = gaussian_noise(params, value.count());
  for (std::size_t c = 0; c < noise.size(); ++c) {
    if (signal[c] > 0) tensor.weight_noise.push_back(noise[c] / signal[c]);
  }
  return tensor;
}

}  // namespace vernier
