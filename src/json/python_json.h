// JSON as Python's json module writes and reads it: four spaces, ASCII, and Infinity, -Infinity and NaN as bare words.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

namespace vernier {

/// As json.dumps(value, indent=4).
std::string python_json(const nlohmann::ordered_json& value);

/// The bare words arrive as the strings "Infinity", "-Infinity" and "NaN". Errors: Input, naming the place in the text.
nlohmann::ordered_json parse_python_json(const std::string& text, const std::string& name);

/// A number, or one of the three words; nullopt for anything else.
std::optional<double> python_number(const nlohmann::ordered_json& value);

}  // namespace vernier
