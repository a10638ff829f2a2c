#include "flow/tensor_pictures.h"

#include <algorithm>
#include <cmath>

#include "compare/quantizer_loss.h"

namespace vernier {
namespace {

constexpr std::size_t kBins = 64;
constexpr std::size_t kMostChannels = 4096;

/// Values on the grid of the tensor, or as the layer's narrow float holds them.
std::vector<float> rounded_values(const TensorFacts& tensor, Format format, const std::vector<float>& values) {
  std::vector<float> rounded = values;
  QuantParams params;
  if (tensor.grid && tensor.grid->scale.size() == 1) {
    params = *tensor.grid;
  } else if (!needs_scale(format)) {
    params.format = format;
  } else {
    return rounded;
  }
  round_to(params, values, rounded);
  return rounded;
}

TensorPicture picture_of(const LayerFacts& layer, const TensorFacts& tensor, const char* role) {
  TensorPicture picture;
  picture.layer = layer.name;
  picture.tensor = tensor.name;
  picture.role = role;
  if (tensor.grid) {
    picture.format = format_name(tensor.grid->format);
    if (tensor.grid->scale.size() == 1) {
      picture.step = static_cast<double>(tensor.grid->scale.front());
      const auto [low, high] = ends_of(*tensor.grid);
      picture.low = static_cast<double>(low);
      picture.high = static_cast<double>(high);
    }
  } else if (!needs_scale(layer.format)) {
    picture.format = format_name(layer.format);
  }
  const auto low = static_cast<double>(tensor.values.min);
  const double high = std::max(static_cast<double>(tensor.values.max), std::nextafter(low, INFINITY));
  for (std::size_t i = 0; i <= kBins; ++i) {
    picture.edges.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(kBins));
  }
  picture.counts.assign(kBins, 0);
  picture.rounded_counts.assign(kBins, 0);
  std::vector<float> values;
  for (const Bin& bin : tensor.values.bins) values.push_back(bin.middle());
  const std::vector<float> rounded = rounded_values(tensor, layer.format, values);
  const auto place = [&](float value) {
    const double at = (static_cast<double>(value) - low) / (high - low) * static_cast<double>(kBins);
    return static_cast<std::size_t>(std::clamp(at, 0.0, static_cast<double>(kBins - 1)));
  };
  for (std::size_t i = 0; i < values.size(); ++i) {
    picture.counts[place(values[i])] += tensor.values.bins[i].count;
    if (std::isfinite(rounded[i])) picture.rounded_counts[place(rounded[i])] += tensor.values.bins[i].count;
  }
  for (std::size_t c = 0; c < std::min(tensor.channels.size(), kMostChannels); ++c) {
    picture.channels.push_back(static_cast<double>(tensor.channels[c]));
  }
  return picture;
}

}  // namespace

std::vector<TensorPicture> pictures_of(const LayerFacts& layer) {
  std::vector<TensorPicture> pictures;
  for (const TensorFacts& tensor : layer.inputs) {
    if (tensor.weight && !tensor.values.empty()) pictures.push_back(picture_of(layer, tensor, "weight"));
  }
  return pictures;
}

}  // namespace vernier
