#include "base/source_places.h"

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace vernier {
namespace {

/// Behind "type space::name(types) const " or "name ", which begins at `at`.
std::size_t end_of_function(const std::string& text, std::size_t at) {
  const std::size_t scope = text.find("::", at);
  std::size_t end = text.find('(', at);
  if (end == std::string::npos || scope > end) {
    end = text.find(' ', at);
    return end == std::string::npos ? text.size() : end + 1;
  }
  for (int depth = 0; end < text.size(); ++end) {
    depth += text[end] == '(' ? 1 : text[end] == ')' ? -1 : 0;
    if (depth == 0) break;
  }
  end = std::min(end + 1, text.size());
  if (text.compare(end, 7, " const ") == 0) end += 6;
  return end < text.size() && text[end] == ' ' ? end + 1 : end;
}

/// Behind ": FUNCTION: Assertion `CONDITION` failed: ", which begins at `at`; `at` when something else stands there.
std::size_t end_of_assertion(const std::string& text, std::size_t at) {
  constexpr std::string_view kAssertion = ": Assertion `";
  constexpr std::string_view kFailed = "` failed: ";
  const std::size_t assertion = text.find(kAssertion, at);
  const std::size_t failed = text.find(kFailed, at);
  const bool here = assertion < failed && failed != std::string::npos && text.find('\n', at) > assertion;
  return here ? failed + kFailed.size() : at;
}

/// The next end of a source's name.
std::size_t next_place(const std::string& text, std::size_t from) {
  return std::min(text.find(".cc:", from), text.find(".h:", from));
}

/// TensorRT's: " In FUNCTION at /FILE:LINE".
std::string without_functions(std::string text) {
  constexpr std::string_view kIn = " In ", kAt = " at /";
  for (std::size_t at = 0; (at = text.find(kAt, at)) != std::string::npos;) {
    const std::size_t begin = text.rfind(kIn, at);
    const std::size_t file_end = text.find_first_of(" :()", at + kAt.size());
    const bool one_word = begin != std::string::npos && text.find(' ', begin + kIn.size()) == at;
    if (!one_word || file_end == std::string::npos || text[file_end] != ':') {
      at += kAt.size();
      continue;
    }
    const std::size_t end = std::min(text.find_first_not_of("0123456789", file_end + 1), text.size());
    text.erase(begin, end - begin);
    at = begin;
  }
  return text;
}

}  // namespace

std::string without_source_places(std::string text) {
  text = without_functions(std::move(text));
  for (std::size_t at = 0; (at = next_place(text, at)) != std::string::npos;) {
    const std::size_t line = text.find(':', at) + 1;
    std::size_t end = text.find_first_not_of("0123456789", line);
    if (end == line || end == std::string::npos || (text[end] != ' ' && text[end] != ':')) {
      at = line;
      continue;
    }
    end = text[end] == ' ' ? end_of_function(text, end + 1) : end_of_assertion(text, end);
    const std::size_t space = text.find_last_of(" \n", at);
    const std::size_t begin = space == std::string::npos ? 0 : space + 1;
    text.erase(begin, end - begin);
    at = begin;
  }
  text.erase(text.find_last_not_of(" \n") + 1);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace vernier
