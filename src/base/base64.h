// Standard Base64 with padding, as Python's base64.b64decode(validate=True) reads it and b64encode writes it. Straight
// between buffers: saved arrays are hundreds of megabytes.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace vernier {

/// How many bytes `text` encodes; nullopt when its length is no multiple of four.
std::optional<std::size_t> base64_decoded_size(std::string_view text);

/// Decodes into `out`, which must have that size. False when `text` holds another character or misplaced padding; what
/// is in `out` then means nothing.
bool decode_base64(std::string_view text, std::span<std::byte> out);

/// Appends the text of `bytes`; padded, so the text of a part can only be joined when the part's size divides by three.
void append_base64(std::span<const std::byte> bytes, std::string& text);

}  // namespace vernier
