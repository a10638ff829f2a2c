// "loader.py" and "loader.py:function": how a data loader script is named where a source is wanted.
#pragma once

#include <optional>
#include <string>

namespace vernier {

struct ScriptLocation {
  std::string file;
  std::string function = "load_data";
};

/// nullopt when `text` names no Python file.
inline std::optional<ScriptLocation> script_location(const std::string& text) {
  if (text.ends_with(".py")) return ScriptLocation{text};
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::nullopt;
  const std::string file = text.substr(0, colon);
  const std::string function = text.substr(colon + 1);
  if (!file.ends_with(".py") || function.empty()) return std::nullopt;
  return ScriptLocation{file, function};
}

}  // namespace vernier
