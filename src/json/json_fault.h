// What is wrong with a text that is not JSON, for a message: slow and strict, for when a fast parser has refused it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace vernier {

struct JsonFault {
  std::size_t at = 0;  // bytes from the start; the text's size when it ends too early
  std::string why;
};

/// The first fault; nullopt when there is none, or NaN and Infinity stand before it: they are not JSON, but Python
/// writes them, so they are no fault here.
std::optional<JsonFault> find_json_fault(std::string_view text);

}  // namespace vernier
