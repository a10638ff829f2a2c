#include "base/base64.h"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace vernier {
namespace {

// libcrypto counts in int: whole groups of four characters, three bytes, a call.
constexpr std::size_t kGroups = std::size_t{1} << 28U;

std::size_t padding_of(std::string_view text) {
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  return padding;
}

/// Whole groups without padding. libcrypto skips white space at both ends: fewer bytes come out, then.
bool decode_groups(std::string_view text, std::byte* out) {
  const auto* from = reinterpret_cast<const unsigned char*>(text.data());
  const int bytes = ::EVP_DecodeBlock(reinterpret_cast<unsigned char*>(out), from, static_cast<int>(text.size()));
  return bytes >= 0 && static_cast<std::size_t>(bytes) == text.size() / 4 * 3;
}

}  // namespace

std::optional<std::size_t> base64_decoded_size(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  return text.size() / 4 * 3 - padding_of(text);
}

bool decode_base64(std::string_view text, std::span<std::byte> out) {
  if (text.empty()) return out.empty();
  const std::size_t padding = padding_of(text);
  // libcrypto takes padding anywhere for zero bits.
  if (text.find('=') < text.size() - padding) return false;
  std::byte* to = out.data();
  // The last group apart: what padding stands for has no room in `out`.
  for (std::string_view rest = text.substr(0, text.size() - 4); !rest.empty();) {
    const std::string_view part = rest.substr(0, 4 * kGroups);
    if (!decode_groups(part, to)) return false;
    to += part.size() / 4 * 3;
    rest.remove_prefix(part.size());
  }
  std::array<std::byte, 3> last{};
  if (!decode_groups(text.substr(text.size() - 4), last.data())) return false;
  std::memcpy(to, last.data(), 3 - padding);
  return true;
}

void append_base64(std::span<const std::byte> bytes, std::string& text) {
  while (!bytes.empty()) {
    const std::span<const std::byte> part = bytes.first(std::min(bytes.size(), 3 * kGroups));
    const std::size_t start = text.size();
    text.resize(start + (part.size() + 2) / 3 * 4 + 1);  // libcrypto ends it with a zero
    ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data() + start),
                      reinterpret_cast<const unsigned char*>(part.data()), static_cast<int>(part.size()));
    text.pop_back();
    bytes = bytes.subspan(part.size());
  }
}

}  // namespace vernier
