#include "io/decode_image.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string_view>

#include "vernier/error.h"
#include "vernier/error_code.h"

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

/// The checksum of PNG (ISO 3309): stb looks at none.
std::uint32_t crc32_of(std::span<const std::byte> bytes) {
  static const std::array<std::uint32_t, 256> kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
      std::uint32_t sum = byte;
      for (int bit = 0; bit < 8; ++bit) sum = (sum & 1U) != 0 ? sum >> 1U ^ 0xEDB88320U : sum >> 1U;
      table[byte] = sum;
    }
    return table;
  }();
  std::uint32_t sum = 0xFFFFFFFFU;
  for (const std::byte byte : bytes) sum = sum >> 8U ^ kTable[(sum ^ std::to_integer<std::uint32_t>(byte)) & 0xFFU];
  return ~sum;
}

std::uint32_t big_endian(std::span<const std::byte, 4> bytes) {
  std::uint32_t value = 0;
  for (const std::byte byte : bytes) value = value << 8U | std::to_integer<std::uint32_t>(byte);
  return value;
}

/// True when a critical chunk of a PNG has another checksum than the file says. Files of other kinds carry none; what
/// is cut off is the decoder's to refuse.
bool is_damaged_png(std::span<const std::byte> file) {
  constexpr std::size_t kSignature = 8;
  constexpr std::size_t kAround = 12;  // length, type and checksum
  constexpr std::byte kAncillary{0x20};
  const std::string_view head(reinterpret_cast<const char*>(file.data()), std::min(file.size(), kSignature));
  if (head != "\x89PNG\r\n\x1a\n") return false;
  for (auto rest = file.subspan(kSignature); rest.size() >= kAround;) {
    const std::size_t length = big_endian(rest.first<4>());
    if (length > rest.size() - kAround) return false;
    const auto checked = rest.subspan(4, 4 + length);
    const bool matches = crc32_of(checked) == big_endian(rest.subspan(8 + length).first<4>());
    if (!matches && (checked[0] & kAncillary) == std::byte{0}) return true;
    rest = rest.subspan(kAround + length);
  }
  return false;
}

struct Free {
  void operator()(stbi_uc* pixels) const noexcept { stbi_image_free(pixels); }
};

}  // namespace

Pixels decode_rgb(std::span<const std::byte> file, const std::string& where) {
  if (file.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw Error(ErrorCode::Image, fmt::format("{}: an image file of {} bytes is too large", where, file.size()));
  }
  if (is_damaged_png(file)) {
    throw Error(ErrorCode::Image, fmt::format("{}: is damaged: a checksum of the PNG does not match", where));
  }
  const auto* first = reinterpret_cast<const stbi_uc*>(file.data());
  const int size = static_cast<int>(file.size());
  Pixels image;
  int found_channels = 0;
  if (stbi_info_from_memory(first, size, &image.width, &image.height, &found_channels) == 0) {
    throw Error(ErrorCode::Image, fmt::format("{}: cannot decode this image: {}", where, stbi_failure_reason()));
  }
  if (image.width < 1 || image.height < 1 || std::int64_t{image.width} * image.height > kMostPixels) {
    throw Error(ErrorCode::Image, fmt::format("{}: claims {} x {} pixels, at most {} are decoded", where, image.width,
                                              image.height, kMostPixels));
  }
  image.channels = 3;
  const std::unique_ptr<stbi_uc, Free> pixels(
      stbi_load_from_memory(first, size, &image.width, &image.height, &found_channels, image.channels));
  if (!pixels) {
    throw Error(ErrorCode::Image, fmt::format("{}: cannot be decoded: {}", where, stbi_failure_reason()));
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
