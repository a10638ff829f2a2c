// All rows of the table at run time: for completion, for Python, and for scripts/update_options, which writes Python's
// signatures and docs/options.md.
#pragma once

#include <string>
#include <vector>

#include "table/row.h"

namespace vernier::table {

struct Entry {
  const char* options;  // the struct
  Words words;          // with type and initial of Python
  /// How Python reads a value: flag, count, whole, number, word, format, formats, names, pairs, shapes, path, text;
  /// "?" behind it: or None. Empty: the function does it by itself.
  std::string kind;
  std::string shown;                 // the member's default, as a command line has it
  std::string type, initial;         // in Python
  std::vector<std::string> choices;  // words that a value may be, or that shells complete
};

/// In the order of the tables.
const std::vector<Entry>& entries();

}  // namespace vernier::table
