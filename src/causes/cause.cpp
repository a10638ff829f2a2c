#include "causes/cause.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/format_definition.h"
#include "numerics/grid.h"
#include "vernier/format.h"

namespace vernier::causes {

std::vector<std::string> on_stream(const LayerFacts& layer, std::vector<std::string> repairs) {
  if (!layer.reads_stream) std::erase(repairs, "rotate-stream");
  return repairs;
}

double largest_of(Format format) {
  const FloatGrid* grid = float_grid(format);
  return grid == nullptr ? 0 : static_cast<double>(grid->max_finite);
}

double epsilon_of(Format format) {
  const FloatGrid* grid = float_grid(format);
  return grid == nullptr ? 0 : std::exp2(-grid->mantissa_bits);
}

const TensorFacts* activation_of(const LayerFacts& layer) {
  for (const TensorFacts& input : layer.inputs) {
    if (!input.constant) return &input;
  }
  return nullptr;
}

const TensorFacts* weight_of(const LayerFacts& layer) {
  for (const TensorFacts& input : layer.inputs) {
    if (input.weight) return &input;
  }
  return nullptr;
}

namespace {

/// A quarter of the damage, or a tenth that makes the layer poor by itself.
bool fair_part(double own, double other) {
  return own >= 0.25 * (own + other) || (own >= kPoorNoise && own >= 0.1 * (own + other));
}

}  // namespace

bool activations_to_blame(const LayerFacts& layer) {
  if (!layer.weights_noise || !layer.activations_noise) return true;
  return fair_part(*layer.activations_noise, *layer.weights_noise);
}

bool weights_to_blame(const LayerFacts& layer) {
  if (!layer.weights_noise || !layer.activations_noise) return true;
  return fair_part(*layer.weights_noise, *layer.activations_noise);
}

const TensorFacts* quantized(const LayerFacts& layer) {
  const TensorFacts* worst = nullptr;
  double most = -1;
  for (const TensorFacts& input : layer.inputs) {
    if (input.constant || !input.grid || input.grid->scale.size() != 1 || input.values.empty()) continue;
    const GridNoise noise = grid_noise(input);
    if (noise.clipping + noise.rounding <= most) continue;
    most = noise.clipping + noise.rounding;
    worst = &input;
  }
  return worst;
}

double ordinary_noise(const TensorFacts& tensor, double ordinary_magnitude) {
  if (tensor.grid->format == Format::Float8E4M3FN || tensor.grid->format == Format::Float8E5M2) {
    return grid_noise(tensor).rounding;
  }
  const double step = static_cast<double>(tensor.grid->scale.front());
  const double rms = ordinary_magnitude / 3;  // of values that reach so far
  return step * step / 12 / (rms * rms);
}

double magnitude_at(const Distribution& values, double share) {
  std::vector<std::pair<double, std::int64_t>> magnitudes_of;
  for (const Bin& bin : values.bins) magnitudes_of.emplace_back(std::abs(static_cast<double>(bin.middle())), bin.count);
  std::ranges::sort(magnitudes_of);
  const double wanted = share * static_cast<double>(values.count);
  double seen = 0;
  for (const auto& [magnitude, count] : magnitudes_of) {
    seen += static_cast<double>(count);
    if (seen >= wanted) return magnitude;
  }
  return static_cast<double>(values.absmax());
}

double energy_of(const Distribution& values) {
  double energy = 0;
  for (const Bin& bin : values.bins) {
    const auto middle = static_cast<double>(bin.middle());
    energy += static_cast<double>(bin.count) * middle * middle;
  }
  return energy;
}

double usual_noise(Format format) { return definition_of(format).usual_noise; }

double step_at(Format format, double scale, double magnitude) {
  const FormatDefinition& definition = definition_of(format);
  if (definition.floats == nullptr) return scale;
  if (!(magnitude >= 0) || scale <= 0) return 0;
  const auto least = double(definition.floats->min_exponent);
  const double exponent = magnitude > 0 ? std::max(std::floor(std::log2(magnitude / scale)), least) : least;
  return scale * std::exp2(exponent - definition.floats->mantissa_bits);
}

double noise_at(Format format, double scale, double magnitude) {
  if (!(magnitude > 0)) return 0;
  const double step = step_at(format, scale, magnitude);
  return std::min(1.0, step * step / 12 / (magnitude * magnitude));
}

double gaussian_peak(std::size_t count) {
  if (count < 2) return 1;
  // The median of the largest of `count` magnitudes: (2 Phi(x) - 1)^count = 1/2.
  const double share = std::pow(0.5, 1 / static_cast<double>(count));
  double low = 0;
  double high = 10;
  for (int round = 0; round < 60; ++round) {
    const double middle = (low + high) / 2;
    (std::erf(middle / std::sqrt(2.0)) < share ? low : high) = middle;
  }
  return std::min(low * low, static_cast<double>(count));  // no value is above the root of the sum of squares
}

GridNoise grid_noise(const TensorFacts& tensor) {
  GridNoise noise;
  if (!tensor.grid || tensor.grid->scale.size() != 1 || tensor.values.empty()) return noise;
  const QuantParams& grid = *tensor.grid;
  std::vector<float> values;
  for (const Bin& bin : tensor.values.bins) values.push_back(bin.middle());
  std::vector<float> rounded(values.size());
  round_to(grid, values, rounded);
  double energy = 0;
  std::int64_t clipped = 0;
  const double step = is_integer(grid.format) ? static_cast<double>(grid.scale.front()) : 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto count = static_cast<double>(tensor.values.bins[i].count);
    const auto value = static_cast<double>(values[i]);
    const double error = value - static_cast<double>(rounded[i]);
    energy += count * value * value;
    if (step > 0 && std::abs(error) > 0.5001 * step) {
      noise.clipping += count * error * error;
      clipped += tensor.values.bins[i].count;
    } else {
      // Within a bin values lie anywhere, and so do their distances to a code; a bin narrower than a step says little.
      noise.rounding += count * (step > 0 && value != 0 ? step * step / 12 : error * error);
    }
  }
  if (energy > 0) {
    noise.clipping /= energy;
    noise.rounding /= energy;
  }
  noise.clipped_share =
      static_cast<double>(clipped) / static_cast<double>(std::max<std::int64_t>(tensor.values.count, 1));
  return noise;
}

std::vector<std::size_t> large_channels(std::span<const float> channels) {
  if (channels.size() < 4) return {};
  std::vector<float> sorted(channels.begin(), channels.end());
  std::ranges::sort(sorted);
  const float median = sorted[sorted.size() / 2];
  if (!(median > 0) || sorted.back() < 10 * median) return {};
  std::vector<std::size_t> large;
  for (std::size_t c = 0; c < channels.size(); ++c) {
    if (channels[c] > 5 * median) large.push_back(c);
  }
  if (4 * large.size() > channels.size()) large.clear();
  return large;
}

}  // namespace vernier::causes
