// Small text functions that messages everywhere need: nearest names, wildcards, safe printing of names from files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/tensor.h"

namespace vernier {

/// Up to `limit` of `names` nearest to `wanted` by edit distance (at most half of its length, unless it is a part of
/// the name, whatever the case). First those that begin with it, which may be cut short; then the others, nearest
/// first.
std::vector<std::string> nearest_names(std::string_view wanted, std::span<const std::string> names,
                                       std::size_t limit = 3);

/// Shell wildcard match: * (any run), ? (any character), [abc] and [!abc] (sets and ranges). The whole text must match.
bool wildcard_match(std::string_view pattern, std::string_view text);

/// Whether `name` is one of `names`.
bool contains(std::span<const std::string> names, std::string_view name);

/// `name` for a terminal: bytes that are no UTF-8 and control characters become \xNN, letters that cannot be seen or
/// turn the direction of text \u{XXXX}, so that a hostile name can neither move the cursor nor look like another. So do
/// single guillemets, which mark what a text of ours names (vernier/marks.h).
std::string printable(std::string_view name);

/// A text of ours for a terminal, whose names may come from anywhere: as printable(), and its marks stay.
std::string printable_text(std::string_view text);

/// What stands before the first line break.
std::string first_line(std::string_view text);
/// The last line that is not empty.
std::string last_line(std::string_view text);

/// ASCII letters in lower case; bytes of other alphabets stay.
std::string lower_case(std::string text);

/// "1 layer", "3 layers".
std::string plural(std::size_t count, const std::string& noun);

/// "a, b, c and 4 more": the first `limit`; all where only one would be left out.
std::string list_some(std::span<const std::string> names, std::size_t limit = 5);

/// A shape or a place as Python writes a tuple: "(1, 3)", "(3,)", "()".
std::string tuple_text(const Shape& shape);

/// The place of flat index `at` in `shape`: "(0, 6, 0)"; "()" in a scalar.
std::string place_text(std::int64_t at, const Shape& shape);

}  // namespace vernier
