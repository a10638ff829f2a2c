#include "data/base64.h"

#include <array>
#include <cstdint>

namespace vernier {
namespace {

constexpr std::uint8_t kInvalid = 0xFF;

constexpr std::array<std::uint8_t, 256> make_values() {
  constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::array<std::uint8_t, 256> values{};
  values.fill(kInvalid);
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    values[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}

constexpr std::array<std::uint8_t, 256> kValues = make_values();

}  // namespace

std::optional<std::vector<std::byte>> decode_base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  std::vector<std::byte> bytes;
  bytes.reserve(text.size() / 4 * 3);
  const std::size_t digits = text.size() - padding;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    for (std::size_t k = i; k < i + 4; ++k) {
      const std::uint8_t value = k < digits ? kValues[static_cast<unsigned char>(text[k])] : std::uint8_t{0};
      if (value == kInvalid) return std::nullopt;
      group = group << 6 | value;
    }
    for (int shift = 16; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(group >> shift & 0xFF));
  }
  bytes.resize(bytes.size() - padding);
  return bytes;
}

}  // namespace vernier
