#include "report/export/csv.h"

#include <fmt/format.h>

#include <cstddef>
#include <string_view>

#include "base/text.h"

namespace vernier {
namespace {

std::string text_cell(const std::string& value) {
  std::string text = printable(value);
  if (!text.empty() && std::string_view("=+-@").find(text.front()) != std::string_view::npos) text.insert(0, 1, '\'');
  if (text.find_first_of(",;\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string cell(const Json& value) {
  switch (value.kind()) {
    case Json::Kind::Null:
      return {};
    case Json::Kind::Text:
      return text_cell(value.text());
    case Json::Kind::Number:
      return fmt::format("{}", value.number());
    default:
      return json_text(value);
  }
}

}  // namespace

std::string csv_line(const Json::Array& cells) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) line += (i == 0 ? "" : ",") + cell(cells[i]);
  return line + "\n";
}

}  // namespace vernier
