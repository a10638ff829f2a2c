// Elements of four bits as ONNX stores them: two in one byte, the first in the low half.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace vernier {

/// Element `i`: -8 .. 7 when signed, else 0 .. 15. `bytes` holds at least i / 2 + 1 of them.
inline int nibble(std::span<const std::byte> bytes, std::size_t i, bool is_signed) {
  const int code = std::to_integer<int>(bytes[i / 2] >> (i % 2 == 0 ? 0 : 4)) & 0xF;
  return is_signed && code >= 8 ? code - 16 : code;
}

/// The low halves of `codes`, two in one byte; with an odd number the last byte's high half is 0.
inline std::vector<std::byte> packed_nibbles(std::span<const std::byte> codes) {
  std::vector<std::byte> bytes((codes.size() + 1) / 2);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::byte half = codes[i] & std::byte{0x0F};
    bytes[i / 2] |= i % 2 == 0 ? half : half << 4;
  }
  return bytes;
}

}  // namespace vernier
