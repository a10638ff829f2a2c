#include "base/quote.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

#include "base/text.h"

namespace vernier {
namespace {

constexpr std::string_view kBare = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%=";

/// Byte by byte, for literals in which everything but plain ASCII is written as \xNN.
std::string escaped(std::string_view text, std::string_view also) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      if (c == '\\' || also.find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  }
  return out;
}

std::string fence(std::string_view text, std::size_t least) {
  std::size_t longest = 0;
  std::size_t run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  return std::string(std::max(least, longest + 1), '`');
}

}  // namespace

std::string shell_quote(std::string_view word) {
  if (!word.empty() && word.find_first_not_of(kBare) == std::string_view::npos) return std::string(word);
  // printable() changes nothing but what a reader could not see.
  if (printable(word) != word) return "$'" + escaped(word, "'") + "'";
  std::string out = "'";
  for (const char c : word) {
    if (c == '\'') {
      out += R"('\'')";
    } else {
      out += c;
    }
  }
  return out + "'";
}

std::string python_quote(std::string_view text) {
  if (printable(text) == text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
    return out + "\"";
  }
  return "b\"" + escaped(text, "\"") + "\".decode()";
}

std::string exact_regex(std::string_view name) {
  std::string out = "^";
  for (const char c : name) {
    if (std::string_view(R"(\^$.|?*+()[]{})").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out + "$";
}

std::string code_block(std::string_view language, std::string_view code) {
  const std::string marks = fence(code, 3);
  return fmt::format("{}{}\n{}{}{}\n", marks, language, code, code.ends_with('\n') ? "" : "\n", marks);
}

std::string inline_code(std::string_view text) {
  const std::string safe = printable(text);
  const std::string marks = fence(safe, 1);
  // A space apart where the text begins or ends with a backtick; Markdown takes it away again.
  const char* gap = marks.size() > 1 ? " " : "";
  return marks + gap + safe + gap + marks;
}

std::string markdown_text(std::string_view text) {
  std::string out;
  for (const char c : printable(text)) {
    if (std::string_view(R"(\`*_[]<>#|)").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace vernier
