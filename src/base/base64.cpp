#include "base/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace vernier {
namespace {

constexpr std::string_view kAlphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// A digit's value, shifted to where it belongs in a group of four, so that a group is four look-ups joined by `or`.
// What is no digit sets a bit above the 24 of a group.
constexpr std::uint32_t kInvalid = 1U << 31U;
using Values = std::array<std::uint32_t, 256>;

constexpr Values make_values(unsigned shift) {
  Values values{};
  values.fill(kInvalid);
  for (std::uint32_t i = 0; i < kAlphabet.size(); ++i) values[static_cast<unsigned char>(kAlphabet[i])] = i << shift;
  return values;
}

constexpr std::array<Values, 4> kValues{make_values(18), make_values(12), make_values(6), make_values(0)};

// Two digits at a time: half as many look-ups as one by one.
constexpr std::array<std::array<char, 2>, 4096> make_pairs() {
  std::array<std::array<char, 2>, 4096> pairs{};
  for (std::size_t i = 0; i < pairs.size(); ++i) pairs[i] = {kAlphabet[i >> 6U], kAlphabet[i & 63U]};
  return pairs;
}

constexpr std::array<std::array<char, 2>, 4096> kPairs = make_pairs();

std::uint32_t group_at(const char* text) {
  return kValues[0][static_cast<unsigned char>(text[0])] | kValues[1][static_cast<unsigned char>(text[1])] |
         kValues[2][static_cast<unsigned char>(text[2])] | kValues[3][static_cast<unsigned char>(text[3])];
}

std::size_t padding_of(std::string_view text) {
  std::size_t padding = 0;
  while (padding < 2 && padding < text.size() && text[text.size() - 1 - padding] == '=') ++padding;
  return padding;
}

void put_group(std::uint32_t group, std::byte* out, std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) out[k] = static_cast<std::byte>(group >> (16 - 8 * k) & 0xFFU);
}

void encode_group(std::uint32_t group, char* out) {
  std::memcpy(out, kPairs[group >> 12U].data(), 2);
  std::memcpy(out + 2, kPairs[group & 0xFFFU].data(), 2);
}

}  // namespace

std::optional<std::size_t> base64_decoded_size(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  return text.size() / 4 * 3 - padding_of(text);
}

bool decode_base64(std::string_view text, std::span<std::byte> out) {
  if (text.empty()) return out.empty();
  // The last group apart: it may be padded.
  const std::size_t full = text.size() / 4 - 1;
  const char* from = text.data();
  std::byte* to = out.data();
  std::uint32_t seen = 0;
  for (std::size_t i = 0; i < full; ++i, from += 4, to += 3) {
    const std::uint32_t group = group_at(from);
    seen |= group;
    to[0] = static_cast<std::byte>(group >> 16U);
    to[1] = static_cast<std::byte>(group >> 8U);
    to[2] = static_cast<std::byte>(group);
  }
  const std::size_t padding = padding_of(text);
  std::array<char, 4> last{};
  std::memcpy(last.data(), from, last.size());
  for (std::size_t k = 4 - padding; k < 4; ++k) last[k] = kAlphabet[0];
  const std::uint32_t group = group_at(last.data());
  put_group(group, to, 3 - padding);
  return ((seen | group) & kInvalid) == 0;
}

void append_base64(std::span<const std::byte> bytes, std::string& text) {
  const std::size_t start = text.size();
  text.resize(start + (bytes.size() + 2) / 3 * 4);
  char* to = text.data() + start;
  const auto at = [&bytes](std::size_t i) { return std::to_integer<std::uint32_t>(bytes[i]); };
  std::size_t i = 0;
  for (; i + 3 <= bytes.size(); i += 3, to += 4) encode_group(at(i) << 16U | at(i + 1) << 8U | at(i + 2), to);
  if (i == bytes.size()) return;
  const bool two = i + 2 == bytes.size();
  encode_group(at(i) << 16U | (two ? at(i + 1) << 8U : 0U), to);
  to[3] = '=';
  if (!two) to[2] = '=';
}

}  // namespace vernier
