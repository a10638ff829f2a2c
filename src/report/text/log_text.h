// Lines in the form of the peer's log: "[I]" in front, four spaces a level, colour by kind.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace vernier {

enum class LogKind { Info, Good, Warning, Bad };

class LogText {
 public:
  /// `terse`: lines of kind Info are left out.
  explicit LogText(bool color, bool terse = false) : color_(color), terse_(terse) {}

  /// `text` may have several lines; only the first one gets the mark. A line end at its end is not needed.
  void line(LogKind kind, std::string_view text);

  /// One level deeper while it lives.
  class Indent {
   public:
    explicit Indent(LogText& log) : log_(log) { ++log_.level_; }
    ~Indent() { --log_.level_; }
    Indent(const Indent&) = delete;
    Indent& operator=(const Indent&) = delete;

   private:
    LogText& log_;
  };

  const std::string& text() const { return text_; }

 private:
  bool color_, terse_;
  std::size_t level_ = 0;
  std::string text_;
};

}  // namespace vernier
