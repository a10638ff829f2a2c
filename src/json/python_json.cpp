#include "json/python_json.h"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>

#include "base/text.h"
#include "vernier/error.h"

namespace vernier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kWords{"-Infinity", "Infinity", "NaN"};

std::string float_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string text = fmt::format("{}", value);
  // Python tells 1.0 from 1.
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

void write(const Json& value, std::size_t depth, std::string& out) {
  const auto line = [&](std::size_t level) { out += '\n' + std::string(4 * level, ' '); };
  const auto text = [](const Json& scalar) {
    return scalar.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
  };
  if (value.is_number_float()) {
    out += float_text(value.get<double>());
  } else if (value.is_object() && !value.empty()) {
    out += '{';
    bool first = true;
    for (const auto& [key, member] : value.items()) {
      if (!first) out += ',';
      first = false;
      line(depth + 1);
      out += text(Json(key)) + ": ";
      write(member, depth + 1, out);
    }
    line(depth);
    out += '}';
  } else if (value.is_array() && !value.empty()) {
    out += '[';
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (i > 0) out += ',';
      line(depth + 1);
      write(value[i], depth + 1, out);
    }
    line(depth);
    out += ']';
  } else {
    out += text(value);
  }
}

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

std::string python_json(const Json& value) {
  std::string out;
  write(value, 0, out);
  return out;
}

Json parse_python_json(const std::string& text, const std::string& name) {
  try {
    return Json::parse(quoted_words(text));
  } catch (const Json::exception& error) {
    throw Error(ErrorKind::Input, fmt::format("{}: not JSON: {}", printable(name), printable(error.what())));
  }
}

std::optional<double> python_number(const Json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return std::numeric_limits<double>::infinity();
  if (value == "-Infinity") return -std::numeric_limits<double>::infinity();
  if (value == "NaN") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

}  // namespace vernier
