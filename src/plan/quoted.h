// Text of the JSON files that are written line by line.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace vernier {

/// A string with its quotes; invalid UTF-8, which names in a file may hold, is replaced.
inline std::string quoted(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace vernier
