#include "json/python_json.h"

#include <array>
#include <cstddef>
#include <string_view>

namespace vernier {
namespace {

constexpr std::array<std::string_view, 3> kWords{"-Infinity", "Infinity", "NaN"};

/// The three words in quotes, so that a strict parser takes them; text inside strings stays.
std::string quoted_words(const std::string& text) {
  std::string out;
  out.reserve(text.size());
  bool in_string = false;
  for (std::size_t at = 0; at < text.size();) {
    const std::string_view rest = std::string_view(text).substr(at);
    if (!in_string) {
      bool found = false;
      for (const std::string_view word : kWords) {
        if (!rest.starts_with(word)) continue;
        out += '"' + std::string(word) + '"';
        at += word.size();
        found = true;
        break;
      }
      if (found) continue;
    }
    if (in_string && text[at] == '\\' && at + 1 < text.size()) {
      out += text.substr(at, 2);
      at += 2;
      continue;
    }
    if (text[at] == '"') in_string = !in_string;
    out += text[at++];
  }
  return out;
}

}  // namespace

std::string python_json(const Json& value) { return json_text(value, {.indent = 4, .ascii = true, .python = true}); }

std::string python_number(double value) { return json_text(value, {.python = true}); }

Json parse_python_json(const std::string& text, const std::string& where) {
  return parse_json(quoted_words(text), where);
}

}  // namespace vernier
