#include "tasks/readings.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

namespace vernier {
namespace {

// The mean and deviation of ImageNet's pixels, 0..1, in the order red, green, blue.
constexpr std::array<double, 3> kMean = {0.485, 0.456, 0.406}, kDeviation = {0.229, 0.224, 0.225};

/// x -> (x * to_unit - mean) / deviation, in the order of the channels after swapping.
ImageChange normalised(const std::string& words, double to_unit) {
  ImageChange change;
  change.words = words;
  change.options = "‹image-mean› 123.675,116.28,103.53 ‹image-std› 58.395,57.12,57.375";
  for (std::size_t c = 0; c < 3; ++c) {
    change.factor[c] = to_unit / kDeviation[c];
    change.offset[c] = -kMean[c] / kDeviation[c];
  }
  return change;
}

ImageChange undone(const std::string& words, const std::string& options, double most) {
  ImageChange change;
  change.words = words;
  change.options = options;
  for (std::size_t c = 0; c < 3; ++c) {
    change.factor[c] = kDeviation[c] * most;
    change.offset[c] = kMean[c] * most;
  }
  return change;
}

ImageChange linear(const std::string& words, const std::string& options, double factor, double offset) {
  ImageChange change;
  change.words = words;
  change.options = options;
  change.factor.assign(3, factor);
  change.offset.assign(3, offset);
  return change;
}

const char* const kPlain = "no ‹image-mean› and no ‹image-std›";
const char* const kUnit = "‹image-std› 255";
const char* const kAround = "‹image-mean› 127.5 ‹image-std› 127.5";

std::vector<ImageChange> scales(double least, double most) {
  if (least >= -0.01 && most > 2) {  // 0..255
    return {linear("divided by 255", kUnit, 1. / 255, 0), linear("0..255 to -1..1", kAround, 1. / 127.5, -1),
            normalised("divided by 255, then less ImageNet's mean, by its deviation", 1. / 255)};
  }
  if (least >= -0.01) {  // 0..1
    return {linear("times 255", kPlain, 255, 0), linear("0..1 to -1..1", kAround, 2, -1),
            normalised("less ImageNet's mean, by its deviation", 1)};
  }
  if (least >= -1.01 && most <= 1.01) {  // -1..1
    return {linear("-1..1 to 0..1", kUnit, 0.5, 0.5), linear("-1..1 to 0..255", kPlain, 127.5, 127.5)};
  }
  if (least >= -3 && most <= 3) {
    return {undone("ImageNet's mean and deviation undone, to 0..1", kUnit, 1),
            undone("ImageNet's mean and deviation undone, to 0..255", kPlain, 255)};
  }
  if (least < -50 && most <= 256) return {linear("divided by 128", "", 1. / 128, 0)};  // centred, not scaled
  return {};
}

}  // namespace

int image_axis(const Shape& shape) {
  if (shape.size() != 4) return -1;
  const auto is_channels = [](std::int64_t n) { return n == 1 || n == 3; };
  if (is_channels(shape[1]) && shape[2] > 4 && shape[3] > 4) return 1;
  return is_channels(shape[3]) && shape[1] > 4 && shape[2] > 4 ? 3 : -1;
}

std::vector<ImageChange> image_changes(double least, double most, std::int64_t channels) {
  std::vector<ImageChange> all{{}};
  const std::vector<ImageChange> scaled = scales(least, most);
  all.insert(all.end(), scaled.begin(), scaled.end());
  if (channels != 3) {
    // One channel has no colours of its own: the mean of the three would be a guess.
    std::erase_if(all, [](const ImageChange& change) { return change.factor[0] != change.factor[1]; });
    return all;
  }
  const std::size_t plain = all.size();
  for (std::size_t i = 0; i < plain; ++i) {
    ImageChange swapped = all[i];
    swapped.swap = true;
    swapped.words = swapped.words.empty() ? "red and blue swapped" : "red and blue swapped, " + swapped.words;
    swapped.options =
        "‹image-color› bgr (or rgb, where bgr was used)" + (swapped.options.empty() ? "" : " and " + swapped.options);
    all.push_back(swapped);
  }
  ImageChange relayout;
  relayout.words = "taken as the other layout (NHWC against NCHW)";
  relayout.options = "‹image-layout›, or a transpose before the data is saved";
  relayout.relayout = true;
  all.push_back(relayout);
  return all;
}

bool rescales(const ImageChange& change) {
  const ImageChange none;
  return change.factor != none.factor || change.offset != none.offset;
}

bool enlarges(const ImageChange& change) {
  return std::ranges::any_of(change.factor, [](double factor) { return factor > 1; });
}

int steps_of(const ImageChange& change) {
  return (change.swap ? 1 : 0) + (change.relayout ? 1 : 0) + (rescales(change) ? 1 : 0);
}

namespace {

/// Mean difference of neighbours along both axes of the picture, each channel by itself.
double roughness(const Tensor& image) {
  const Shape& shape = image.shape();
  const int axis = image_axis(shape);
  const auto channels = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  const auto height = static_cast<std::size_t>(axis == 1 ? shape[2] : shape[1]);
  const auto width = static_cast<std::size_t>(axis == 1 ? shape[3] : shape[2]);
  const std::size_t next_x = axis == 1 ? 1 : channels, next_y = width * next_x;
  const std::span<const float> values = image.floats();
  double sum = 0;
  for (std::size_t n = 0; n < static_cast<std::size_t>(shape[0]); ++n) {
    for (std::size_t c = 0; c < channels; ++c) {
      const std::size_t first = n * channels * height * width + (axis == 1 ? c * height * width : c);
      for (std::size_t y = 0; y + 1 < height; ++y) {
        for (std::size_t x = 0; x + 1 < width; ++x) {
          const std::size_t at = first + y * next_y + x * next_x;
          sum += std::abs(static_cast<double>(values[at + next_x]) - values[at]);
          sum += std::abs(static_cast<double>(values[at + next_y]) - values[at]);
        }
      }
    }
  }
  return sum;
}

}  // namespace

bool smoother_in_other_layout(const Tensor& image) {
  constexpr double kClearly = 0.8;
  ImageChange other;
  other.relayout = true;
  return roughness(changed(image, other)) < kClearly * roughness(image);
}

Tensor changed(const Tensor& image, const ImageChange& change) {
  const Shape& shape = image.shape();
  const int axis = image_axis(shape);
  const std::int64_t channels = shape[static_cast<std::size_t>(axis)];
  const std::int64_t height = axis == 1 ? shape[2] : shape[1];
  const std::int64_t width = axis == 1 ? shape[3] : shape[2];
  const bool first_to_last = axis == 1;  // what the shape says
  Tensor made(Dtype::Float32, shape);
  const std::span<const float> from = image.floats();
  const std::span<float> to = made.mutable_floats();
  const auto place = [&](bool channels_first, std::int64_t n, std::int64_t c, std::int64_t y, std::int64_t x) {
    return static_cast<std::size_t>(channels_first ? ((n * channels + c) * height + y) * width + x
                                                   : ((n * height + y) * width + x) * channels + c);
  };
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t c = 0; c < channels; ++c) {
      const std::int64_t source = change.swap && channels == 3 ? 2 - c : c;
      const auto factor = change.factor[static_cast<std::size_t>(c % 3)];
      const auto offset = change.offset[static_cast<std::size_t>(c % 3)];
      for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
          const float value = from[place(first_to_last != change.relayout, n, source, y, x)];
          to[place(first_to_last, n, c, y, x)] = static_cast<float>(factor * value + offset);
        }
      }
    }
  }
  return made;
}

}  // namespace vernier
