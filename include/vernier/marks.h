// What texts of the library name for whoever reads them to give or to run. An option of the command is an argument in
// Python and a member of a struct in C++, so errors, hints, warnings and the fields of reports name it neutrally,
// between single guillemets, and whoever shows the text says it in words of their own:
//
//   ‹image-std› holds 0, which cannot divide       an argument: an option of docs/contract.md without its dashes
//   ‹vernier inspect model MODEL --show layers›    a command to paste, whose options are not marked apart
//
// A mark never comes from a user's file: in names these two letters are written as \u{2039} and \u{203A}.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"

namespace vernier {

/// What stands between two marks.
struct Marked {
  std::string text;  // "image-std", "vernier inspect model MODEL --show layers"
  bool is_command() const { return text.starts_with("vernier "); }
};

/// All that are marked in `text`, in order.
VERNIER_API std::vector<Marked> marked_in(std::string_view text);

/// `text` with what `say` makes of each mark in its place. A guillemet without its partner stays.
VERNIER_API std::string replace_marks(std::string_view text, const std::function<std::string(const Marked&)>& say);

/// `text` as the command line says it: "--image-std", "vernier inspect model MODEL --show layers".
VERNIER_API std::string command_words(std::string_view text);

}  // namespace vernier
