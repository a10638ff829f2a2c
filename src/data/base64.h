// Standard Base64 with padding, as Python's base64.b64decode(validate=True) reads it.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace vernier {

/// The bytes that `text` encodes; nullopt when it holds another character, a wrong length or misplaced padding.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace vernier
