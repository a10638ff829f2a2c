#include "base/utf8.h"

#include <utf8proc.h>

#include <algorithm>

namespace vernier {

CodePoint code_point(std::string_view text, std::size_t at) {
  utf8proc_int32_t value = -1;
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  const utf8proc_ssize_t length = ::utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &value);
  return length > 0 ? CodePoint{value, static_cast<std::size_t>(length)} : CodePoint{};
}

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const CodePoint point = code_point(text, at);
    if (point.value < 0) return false;
    at += point.bytes;
  }
  return true;
}

std::size_t columns_of(CodePoint point) {
  if (point.value < 0) return 1;
  return static_cast<std::size_t>(std::max(::utf8proc_charwidth(point.value), 0));
}

bool treacherous(CodePoint point) {
  if (point.value < 0) return false;
  const utf8proc_category_t category = ::utf8proc_category(point.value);
  return category == UTF8PROC_CATEGORY_CC || category == UTF8PROC_CATEGORY_CF || category == UTF8PROC_CATEGORY_ZL ||
         category == UTF8PROC_CATEGORY_ZP;
}

}  // namespace vernier
