#include "jobs/diagnose/constant_facts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/format_definition.h"
#include "causes/cause.h"
#include "model/output_channels.h"
#include "numerics/distribution.h"
#include "numerics/grid.h"
#include "numerics/lattice.h"
#include "numerics/pair_sums.h"
#include "numerics/tensor_grid.h"
#include "plan/integer_bias.h"
#include "plan/weight_blocks.h"
#include "vernier/format.h"
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
    // The zero of weights lies in the middle of the codes, whether they have signs or not.
    const CodeRange codes = code_range(params.format);
    const double steps = codes.highest - (codes.lowest + codes.highest + 1) / 2;
    return causes::gaussian_peak(each) / std::pow(steps, 2) / 12;
  }
  const double rounding = std::pow(causes::epsilon_of(params.format), 2) / 12;  // where a binade begins: no more
  const FormatDefinition& definition = definition_of(params.format);
  if (definition.block_scale != BlockScale::E8M0) return rounding;
  // A power of two as scale lets the largest value of a block saturate: of one just below 2^(k + 1), that is
  // 1 - 448 / 512 of it in E4M3. A channel may be one block.
  const double limit = definition.floats->max_finite;
  const double lost = 1 - limit / std::exp2(std::ilogb(limit) + 1);
  return rounding + lost * lost * causes::gaussian_peak(each) / static_cast<double>(each);
}

/// Noise of each output channel over the energy of its ordinary values; 0 for channels that are zero, by half or more.
std::vector<double> ordinary_noise(const OutputChannels& channels, std::span<const float> values,
                                   std::span<const float> rounded) {
  constexpr float kOrdinary = 9;  // median magnitudes: 6 standard deviations of Gaussian values
  std::vector<std::vector<float>> magnitudes(channels.count);
  for (std::size_t i = 0; i < values.size(); ++i) magnitudes[channels.of(i)].push_back(std::abs(values[i]));
  std::vector<float> limit(channels.count);
  for (std::size_t c = 0; c < channels.count; ++c) {
    if (magnitudes[c].empty()) continue;
    const auto middle = magnitudes[c].begin() + static_cast<std::ptrdiff_t>(magnitudes[c].size() / 2);
    std::ranges::nth_element(magnitudes[c], middle);
    limit[c] = kOrdinary * *middle;
  }
  std::vector<double> noise(channels.count), signal(channels.count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::size_t c = channels.of(i);
    if (std::abs(values[i]) > limit[c]) continue;
    noise[c] += std::pow(static_cast<double>(values[i]) - static_cast<double>(rounded[i]), 2);
    signal[c] += std::pow(static_cast<double>(values[i]), 2);
  }
  for (std::size_t c = 0; c < noise.size(); ++c) noise[c] = signal[c] > 0 ? noise[c] / signal[c] : 0;
  return noise;
}

/// Of a weight whose blocks lie along `params.axis`.
BlockMagnitudes block_magnitudes(const QuantParams& params, const Tensor& weight, const std::vector<float>& rounded) {
  BlockMagnitudes found;
  const double limit = 4 * causes::usual_noise(params.format);
  const AxisGeometry geometry = geometry_along(weight.shape(), params.axis);
  const auto along = static_cast<std::size_t>(geometry.channels), inner = static_cast<std::size_t>(geometry.inner);
  const auto block = static_cast<std::size_t>(params.block);
  const std::span<const float> values = weight.floats();
  for (std::size_t outer = 0; outer < values.size() / (along * inner); ++outer) {
    for (std::size_t i = 0; i < inner; ++i) {
      for (std::size_t first = 0; first < along; first += block) {
        const auto at = [&](std::size_t k) { return (outer * along + first + k) * inner + i; };
        const std::size_t count = std::min(block, along - first);
        std::vector<float> sorted(count);
        for (std::size_t k = 0; k < count; ++k) sorted[k] = std::abs(values[at(k)]);
        std::ranges::sort(sorted);
        const float ordinary = 3 * sorted[count / 2];
        double signal = 0, noise = 0, ordinaries = 0;
        for (std::size_t k = 0; k < count; ++k) {
          if (std::abs(values[at(k)]) > ordinary) continue;
          signal += std::pow(static_cast<double>(values[at(k)]), 2);
          noise += std::pow(static_cast<double>(values[at(k)]) - static_cast<double>(rounded[at(k)]), 2);
          ++ordinaries;
        }
        ++found.blocks;
        if (!(sorted.back() > ordinary) || signal <= 0 || noise <= limit * signal) continue;
        ++found.spoiled;
        const double others = std::sqrt(signal / ordinaries);
        const auto largest = static_cast<double>(sorted.back());
        if (found.others > 0 && largest * found.others <= found.largest * others) continue;
        found.largest = largest;
        found.others = others;
      }
    }
  }
  return found;
}

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

std::optional<Mask> take_any_mask(Distribution& values) {
  const std::optional<Mask> mask = take_mask(values);
  return mask ? mask : mask_alone(values);
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
  if (params.block > 0) tensor.blocks = block_magnitudes(params, value, rounded);
  tensor.gaussian_noise = gaussian_noise(params, value.count());
  tensor.ordinary_noise = ordinary_noise(channels, value.floats(), rounded);
  for (std::size_t c = 0; c < noise.size(); ++c) {
    if (signal[c] > 0) tensor.weight_noise.push_back(noise[c] / signal[c]);
  }
  return tensor;
}

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
