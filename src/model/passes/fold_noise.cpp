#include "model/passes/fold_noise.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

#include "base/format_definition.h"
#include "numerics/grid.h"
#include "vernier/format.h"

namespace vernier::passes {
namespace {

/// Which scale each element of a weight has.
class SharedScales {
 public:
  SharedScales(const onnx::NodeProto& layer, const Shape& weight, bool per_channel) {
    if (!per_channel) return;
    const auto axis = static_cast<std::size_t>(weight_axis(layer, weight));
    count_ = static_cast<std::size_t>(weight[axis]);
    for (std::size_t i = axis + 1; i < weight.size(); ++i) inner_ *= static_cast<std::size_t>(weight[i]);
  }
  std::size_t count() const { return count_; }
  std::size_t of(std::size_t element) const { return element / inner_ % count_; }

 private:
  std::size_t count_ = 1;
  std::size_t inner_ = 1;
};

double float_step(const FloatGrid& grid, double magnitude) {
  if (magnitude > static_cast<double>(grid.max_finite)) return std::numeric_limits<double>::infinity();
  return std::ldexp(std::max(magnitude, std::ldexp(1.0, grid.min_exponent)), -grid.mantissa_bits);
}

/// The step at `magnitude` where the largest value that shares the scale is `largest`.
double step_of(Format format, double magnitude, double largest) {
  const FloatGrid* grid = float_grid(format);
  if (grid == nullptr) return largest;  // times a constant that cancels
  if (!needs_scale(format)) return float_step(*grid, magnitude);
  const double scale = largest / static_cast<double>(grid->max_finite);
  return scale > 0 ? scale * float_step(*grid, std::min(magnitude / scale, static_cast<double>(grid->max_finite))) : 0;
}

double rise(double behind, double folded) {
  return behind > 0 && std::isfinite(behind) ? 10 * std::log10(folded / behind) : 0;
}

}  // namespace

FoldNoise fold_noise(const onnx::NodeProto& layer, const Tensor& weight, const OutputChannels& channels,
                     std::span<const double> factors, const PrepareOptions& options) {
  const std::span<const float> values = weight.floats();
  const SharedScales scales(layer, weight.shape(), options.weights_per_channel);
  std::vector<double> largest(scales.count());
  std::vector<double> largest_folded(scales.count());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double magnitude = std::abs(static_cast<double>(values[i]));
    const std::size_t scale = scales.of(i);
    largest[scale] = std::max(largest[scale], magnitude);
    largest_folded[scale] = std::max(largest_folded[scale], magnitude * std::abs(factors[channels.of(i)]));
  }
  FoldNoise worst;
  for (const Format format : options.formats) {
    // Blocks lie within one output channel.
    const FormatDefinition& definition = definition_of(format);
    if (format == Format::Float32 || definition.weights_alone || definition.block > 0) continue;
    std::vector<double> behind(channels.count);
    std::vector<double> folded(channels.count);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double magnitude = std::abs(static_cast<double>(values[i]));
      const double factor = std::abs(factors[channels.of(i)]);
      const std::size_t scale = scales.of(i);
      behind[channels.of(i)] += std::pow(factor * step_of(format, magnitude, largest[scale]), 2);
      folded[channels.of(i)] += std::pow(step_of(format, magnitude * factor, largest_folded[scale]), 2);
    }
    for (std::size_t c = 0; c < channels.count; ++c)
      worst.channel_db = std::max(worst.channel_db, rise(behind[c], folded[c]));
    worst.layer_db = std::max(
        worst.layer_db, rise(std::reduce(behind.begin(), behind.end()), std::reduce(folded.begin(), folded.end())));
  }
  return worst;
}

}  // namespace vernier::passes
