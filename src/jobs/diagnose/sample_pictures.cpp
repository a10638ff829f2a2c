#include "jobs/diagnose/sample_pictures.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/base64.h"
#include "io/encode_image.h"
#include "io/resample.h"
#include "tasks/readings.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

std::optional<Pixels> pixels_of(const Tensor& tensor) {
  const int axis = image_axis(tensor.shape());
  if (axis < 0 || tensor.dtype() != Dtype::Float32 || tensor.shape()[0] < 1) return std::nullopt;
  const Shape& shape = tensor.shape();
  const bool channels_last = axis == 3;
  Pixels image;
  image.channels = static_cast<int>(shape[static_cast<std::size_t>(axis)]);
  image.height = static_cast<int>(shape[channels_last ? 1 : 2]);
  image.width = static_cast<int>(shape[channels_last ? 2 : 3]);
  const std::size_t places = static_cast<std::size_t>(image.height) * static_cast<std::size_t>(image.width);
  const auto channels = static_cast<std::size_t>(image.channels);
  if (places == 0) return std::nullopt;
  const std::span<const float> values = tensor.floats().first(places * channels);  // of a batch the first
  float least = 0, most = 0;
  bool any = false;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = any ? std::min(least, value) : value;
    most = any ? std::max(most, value) : value;
    any = true;
  }
  const float scale = most > least ? 255 / (most - least) : 0;
  image.values.resize(places * channels);
  for (std::size_t place = 0; place < places; ++place) {
    for (std::size_t c = 0; c < channels; ++c) {
      const float value = values[channels_last ? place * channels + c : c * places + place];
      image.values[place * channels + c] =
          std::isfinite(value) ? static_cast<std::uint8_t>(std::lround((value - least) * scale)) : 0;
    }
  }
  return image;
}

Pixels small(const Pixels& image) {
  const int longest = std::max(image.width, image.height);
  if (longest <= kSamplePicture) return image;
  const int width = std::max(1, image.width * kSamplePicture / longest);
  const int height = std::max(1, image.height * kSamplePicture / longest);
  return resize_bilinear(image, width, height, {0, 0, width, height});
}

}  // namespace

std::vector<SamplePicture> sample_pictures(const SampleSource& samples, const std::vector<InputInfo>& inputs,
                                           const std::vector<std::size_t>& numbers) {
  std::vector<SamplePicture> pictures;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::ranges::find(numbers, i) == numbers.end()) continue;
    const Sample sample = samples.at(i);
    for (const InputInfo& input : inputs) {
      const auto given = sample.find(input.name);
      const std::optional<Pixels> image = given == sample.end() ? std::nullopt : pixels_of(given->second);
      if (!image) continue;
      std::string png;
      append_base64(encode_png(small(*image)), png);
      pictures.push_back({i, input.name, std::move(png)});
      break;
    }
  }
  return pictures;
}

}  // namespace vernier
