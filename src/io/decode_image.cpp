#include "io/decode_image.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "vernier/error.h"

// The only translation unit that sees stb's code. Its own functions stay private to it.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_NO_STDIO
#define STBI_NO_HDR
#define STBI_NO_LINEAR
#define STBI_NO_PIC
#include <stb_image.h>
#pragma GCC diagnostic pop

namespace vernier {
namespace {

constexpr std::int64_t kMostPixels = 178956970;

struct Free {
  void operator()(stbi_uc* pixels) const noexcept { stbi_image_free(pixels); }
};

}  // namespace

Pixels decode_rgb(std::span<const std::byte> file, const std::string& where) {
  if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorKind::Input, fmt::format("{}: an image file of {} bytes is too large", where, file.size()));
  }
  const auto* first = reinterpret_cast<const stbi_uc*>(file.data());
  const int size = static_cast<int>(file.size());
  Pixels image;
  int found_channels = 0;
  if (stbi_info_from_memory(first, size, &image.width, &image.height, &found_channels) == 0) {
    throw Error(ErrorKind::Input, fmt::format("{}: is no image that can be decoded: {}", where, stbi_failure_reason()));
  }
  if (image.width < 1 || image.height < 1 || std::int64_t{image.width} * image.height > kMostPixels) {
    throw Error(ErrorKind::Input, fmt::format("{}: claims {} x {} pixels, at most {} are decoded", where, image.width,
                                              image.height, kMostPixels));
  }
  image.channels = 3;
  const std::unique_ptr<stbi_uc, Free> pixels(
      stbi_load_from_memory(first, size, &image.width, &image.height, &found_channels, image.channels));
  if (!pixels) {
    throw Error(ErrorKind::Input, fmt::format("{}: cannot be decoded: {}", where, stbi_failure_reason()));
  }
  image.values.assign(
      pixels.get(), pixels.get() + static_cast<std::size_t>(image.width) * static_cast<std::size_t>(image.height) * 3);
  return image;
}

Pixels luma_of(const Pixels& rgb) {
  // Six fractional bits, each product rounded on its own, the sum cut off: Pillow's ConvertYCbCr.c.
  const auto part = [](double share, std::uint8_t value) { return static_cast<int>(std::lround(share * 64 * value)); };
  Pixels luma{rgb.width, rgb.height, 1, {}};
  luma.values.reserve(rgb.values.size() / 3);
  for (std::size_t i = 0; i + 2 < rgb.values.size(); i += 3) {
    const int sum = part(0.299, rgb.values[i]) + part(0.587, rgb.values[i + 1]) + part(0.114, rgb.values[i + 2]);
    luma.values.push_back(static_cast<std::uint8_t>(sum >> 6));
  }
  return luma;
}

}  // namespace vernier
