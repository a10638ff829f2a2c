// Values become texts. The layout is ours, a few commas and line ends; how a text is escaped and a number is written is
// nlohmann's, and Python's where its reader is Python.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "json/json.h"

namespace vernier {
namespace {

std::string python_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string text = fmt::format("{}", value);
  // Python tells 1.0 from 1.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string number_text(double value, bool python) {
  if (python) return python_text(value);
  if (std::isnan(value)) return "\"nan\"";
  if (std::isinf(value)) return value > 0 ? "\"inf\"" : "\"-inf\"";
  return nlohmann::json(value).dump();
}

class Printer {
 public:
  explicit Printer(const JsonLayout& layout) : layout_(layout) {}

  void print(const Json& value, std::size_t depth) {
    switch (value.kind()) {
      case Json::Kind::Null:
        text_ += "null";
        return;
      case Json::Kind::Boolean:
        text_ += value.boolean() ? "true" : "false";
        return;
      case Json::Kind::Integer:
        print_integer(value);
        return;
      case Json::Kind::Number:
        text_ += number_text(value.number(), layout_.python);
        return;
      case Json::Kind::Text:
        text_ += json_quoted(value.text(), layout_.ascii);
        return;
      case Json::Kind::Array:
        print_all(value.items(), "[]", depth, [&](const Json& item) { print(item, depth + 1); });
        return;
      case Json::Kind::Object:
        print_all(value.members(), "{}", depth, [&](const Json::Member& member) {
          text_ += json_quoted(member.key, layout_.ascii);
          text_ += layout_.indent > 0 || layout_.spaces ? ": " : ":";
          print(member.value, depth + 1);
        });
    }
  }

  std::string take() { return std::move(text_); }

 private:
  void print_integer(const Json& value) {
    if (const auto number = value.integer_within<std::int64_t>()) {
      text_ += std::to_string(*number);
    } else {
      text_ += std::to_string(value.integer<std::uint64_t>());
    }
  }

  template <class List, class Print>
  void print_all(const List& list, const char* brackets, std::size_t depth, const Print& print_one) {
    const bool lines = layout_.indent > 0 && depth < layout_.levels && !list.empty();
    const auto line = [&](std::size_t level) {
      if (lines) text_.append(1, '\n').append(layout_.indent * level, ' ');
    };
    text_ += brackets[0];
    bool first = true;
    for (const auto& one : list) {
      if (!first) text_ += lines || !layout_.spaces ? "," : ", ";
      first = false;
      line(depth + 1);
      print_one(one);
    }
    line(depth);
    text_ += brackets[1];
  }

  const JsonLayout& layout_;
  std::string text_;
};

}  // namespace

std::string json_text(const Json& value, const JsonLayout& layout) {
  Printer printer(layout);
  printer.print(value, 0);
  return printer.take();
}

std::string json_quoted(std::string_view text, bool ascii) {
  return nlohmann::json(text).dump(-1, ' ', ascii, nlohmann::json::error_handler_t::replace);
}

}  // namespace vernier
