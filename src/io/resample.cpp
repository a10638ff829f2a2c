#include "io/resample.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "vernier/error.h"

namespace vernier {
namespace {

// 32 bits less 8 for the pixel and 2 for the sum, as in Pillow.
constexpr int kFractionBits = 32 - 8 - 2;

// The input pixels [first, first + weights.size()) that one output pixel mixes.
struct Taps {
  int first = 0;
  std::vector<std::int32_t> weights;
};

std::vector<Taps> make_taps(int in_size, int out_size, int out_first, int out_count) {
  const double scale = static_cast<double>(in_size) / out_size;
  const double support = std::max(scale, 1.0);
  std::vector<Taps> all;
  all.reserve(static_cast<std::size_t>(out_count));
  std::vector<double> exact;
  for (int x = out_first; x < out_first + out_count; ++x) {
    const double center = (x + 0.5) * scale;
    // As Pillow rounds: towards zero after adding a half, also below zero, which lround does not.
    // NOLINTBEGIN(bugprone-incorrect-roundings)
    const int first = std::max(0, static_cast<int>(center - support + 0.5));
    const int end = std::min(in_size, static_cast<int>(center + support + 0.5));
    // NOLINTEND(bugprone-incorrect-roundings)
    exact.clear();
    double sum = 0;
    for (int i = first; i < end; ++i) {
      const double weight = std::max(0.0, 1.0 - std::fabs((i - center + 0.5) * (1.0 / support)));
      exact.push_back(weight);
      sum += weight;
    }
    Taps taps{first, {}};
    taps.weights.reserve(exact.size());
    for (const double weight : exact) {
      // As Pillow rounds; lround would differ where adding 0.5 rounds up.
      // NOLINTNEXTLINE(bugprone-incorrect-roundings)
      taps.weights.push_back(static_cast<std::int32_t>(0.5 + weight / sum * (1 << kFractionBits)));
    }
    all.push_back(std::move(taps));
  }
  return all;
}

std::uint8_t round_to_8_bits(std::int32_t sum) {
  return static_cast<std::uint8_t>(std::clamp(sum >> kFractionBits, 0, 255));
}

// One output line of `count` steps along an axis; `stride` lies between neighbours on that axis, in the input.
void mix(const std::uint8_t* in, std::size_t stride, const Taps& taps, int channels, std::uint8_t* out) {
  for (int c = 0; c < channels; ++c) {
    std::int32_t sum = 1 << (kFractionBits - 1);
    const std::uint8_t* pixel = in + static_cast<std::size_t>(taps.first) * stride + c;
    for (const std::int32_t weight : taps.weights) {
      sum += *pixel * weight;
      pixel += stride;
    }
    out[c] = round_to_8_bits(sum);
  }
}

}  // namespace

Pixels resize_bilinear(const Pixels& image, int width, int height, const Window& window) {
  if (image.width < 1 || image.height < 1 || window.width < 1 || window.height < 1 || window.left < 0 ||
      window.top < 0 || window.left > width - window.width || window.top > height - window.height) {
    throw Error(ErrorKind::Internal, "resize_bilinear: the window is not inside the resized image");
  }
  const std::vector<Taps> columns = make_taps(image.width, width, window.left, window.width);
  const std::vector<Taps> rows = make_taps(image.height, height, window.top, window.height);
  const auto channels = static_cast<std::size_t>(image.channels);
  const std::size_t in_line = static_cast<std::size_t>(image.width) * channels;
  const std::size_t out_line = static_cast<std::size_t>(window.width) * channels;

  // Horizontally, only the input rows that the second pass reads.
  const int first_row = rows.front().first;
  const int end_row = rows.back().first + static_cast<int>(rows.back().weights.size());
  std::vector<std::uint8_t> narrowed(static_cast<std::size_t>(end_row - first_row) * out_line);
  for (int y = first_row; y < end_row; ++y) {
    const std::uint8_t* in = image.values.data() + static_cast<std::size_t>(y) * in_line;
    std::uint8_t* out = narrowed.data() + static_cast<std::size_t>(y - first_row) * out_line;
    for (const Taps& taps : columns) {
      mix(in, channels, taps, image.channels, out);
      out += channels;
    }
  }

  Pixels resized{window.width, window.height, image.channels, {}};
  resized.values.resize(static_cast<std::size_t>(window.height) * out_line);
  for (std::size_t y = 0; y < rows.size(); ++y) {
    Taps taps = rows[y];
    taps.first -= first_row;
    for (int x = 0; x < window.width; ++x) {
      const std::size_t at = static_cast<std::size_t>(x) * channels;
      mix(narrowed.data() + at, out_line, taps, image.channels, resized.values.data() + y * out_line + at);
    }
  }
  return resized;
}

}  // namespace vernier
