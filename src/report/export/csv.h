// Tables for spreadsheets and scripts: quoted as RFC 4180 says, lines end in a line feed.
#pragma once

#include <string>
#include <tuple>
#include <vector>

#include "json/fields.h"

namespace vernier {

/// One line, with its end. Texts are names from files: control characters are escaped, and what a spreadsheet would
/// take for a formula gets an apostrophe before it. Numbers have the fewest digits that tell them apart; null is an
/// empty cell.
std::string csv_line(const Json::Array& cells);

/// All rows under a line with the keys of their fields. What is absent in a row is an empty cell.
template <class Row>
std::string csv_table(const std::vector<Row>& rows) {
  Json::Array keys;
  std::apply([&](const auto&... field) { (keys.push_back(field.key), ...); }, Fields<Row>::list);
  std::string text = csv_line(keys);
  for (const Row& row : rows) {
    const Json object = json_of(row);
    Json::Array cells;
    for (const Json& key : keys) {
      const Json* const value = object.find(key.text());
      cells.push_back(value == nullptr ? Json() : *value);
    }
    text += csv_line(cells);
  }
  return text;
}

}  // namespace vernier
