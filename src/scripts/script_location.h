// "loader.py" and "loader.py:function": how a script of the user is named.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace vernier {

struct ScriptLocation {
  std::string file;
  std::string function;
};

/// nullopt when `text` names no Python file. `function` is the one that is meant where none is named.
inline std::optional<ScriptLocation> script_location(const std::string& text,
                                                     const std::string& function_unless_named = "load_data") {
  if (text.ends_with(".py")) return ScriptLocation{text, function_unless_named};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string file = text.substr(0, colon);
  const std::string function = text.substr(colon + 1);
  if (!file.ends_with(".py") || function.empty()) return std::nullopt;
  return ScriptLocation{file, function};
}

}  // namespace vernier
