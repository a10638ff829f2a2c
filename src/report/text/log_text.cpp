#include "report/text/log_text.h"

#include <cstddef>

#include "base/layout.h"

namespace vernier {
namespace {

constexpr std::size_t kIndent = 4;

std::string_view mark(LogKind kind) {
  switch (kind) {
    case LogKind::Warning:
      return "[W] ";
    case LogKind::Bad:
      return "[E] ";
    default:
      return "[I] ";
  }
}

}  // namespace

void LogText::line(LogKind kind, std::string_view text) {
  if (terse_ && kind == LogKind::Info) return;
  while (text.ends_with('\n')) text.remove_suffix(1);
  bool first = true;
  for (;;) {
    const std::size_t end = text.find('\n');
    std::string whole(first ? mark(kind) : "    ");
    whole += std::string(kIndent * level_, ' ');
    whole += text.substr(0, end);
    switch (kind) {
      case LogKind::Good:
        whole = painted(whole, Paint::Good, color_);
        break;
      case LogKind::Warning:
        whole = painted(whole, Paint::Warning, color_);
        break;
      case LogKind::Bad:
        whole = painted(whole, Paint::Bad, color_);
        break;
      case LogKind::Info:
        break;
    }
    text_ += whole + '\n';
    if (end == std::string_view::npos) return;
    text.remove_prefix(end + 1);
    first = false;
  }
}

}  // namespace vernier
