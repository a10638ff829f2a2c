// JSON as Python's json module writes and reads it: four spaces, ASCII, and Infinity, -Infinity and NaN as bare words,
// which strict JSON does not know. The files of the peer are such.
#pragma once

#include <string>

#include "json/json.h"

namespace vernier {

/// As json.dumps(value, indent=4).
std::string python_json(const Json& value);

/// As Python prints a float: the fewest digits that give the same value, 1e-05 but 0.0001; NaN, Infinity.
std::string python_number(double value);

/// The bare words arrive as the texts "Infinity", "-Infinity" and "NaN", which fields.h reads as numbers.
/// Errors: Input, naming the place in the text.
Json parse_python_json(const std::string& text, const std::string& where);

}  // namespace vernier
