// Text that should be UTF-8 and comes from files that nobody checked: letter by letter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace vernier {

/// One letter of a text.
struct CodePoint {
  std::int32_t value = -1;  // Unicode's number; below zero: a byte that is no UTF-8
  std::size_t bytes = 1;
};

/// The code point at `at` < text.size(). Overlong forms, surrogates and numbers above Unicode's are no UTF-8.
CodePoint code_point(std::string_view text, std::size_t at);

bool is_utf8(std::string_view text);

/// Columns that a code point takes in a terminal: 2 for wide East Asian letters and emoji, 0 for combining marks and
/// what is not shown, 1 for a byte that is no UTF-8.
std::size_t columns_of(CodePoint point);

/// Moves the cursor, cannot be seen, or turns the direction of what follows: control characters, zero width letters,
/// bidirectional controls, separators of lines. Unicode's categories Cc, Cf, Zl and Zp.
bool treacherous(CodePoint point);

}  // namespace vernier
