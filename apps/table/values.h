// Types of members, in words: their defaults as text, and what they are in Python.
#pragma once

#include <fmt/format.h>

#include <map>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "vernier/calibration.h"
#include "vernier/device.h"
#include "vernier/format.h"
#include "vernier/tensor.h"
#include "vernier/words.h"

namespace vernier::table {

template <class Value>
inline constexpr bool kIsOptional = false;
template <class Value>
inline constexpr bool kIsOptional<std::optional<Value>> = true;

/// Takes several values on a command line.
template <class Value>
inline constexpr bool kIsList = false;
template <class Value>
inline constexpr bool kIsList<std::vector<Value>> = true;
template <class Key, class Value>
inline constexpr bool kIsList<std::map<Key, Value>> = true;

/// A default as a command line has it; empty: none, or off.
template <class Value>
std::string text_of(const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return "";
  } else if constexpr (Worded<Value>) {
    return std::string(word_of(value));
  } else if constexpr (std::is_same_v<Value, Device>) {
    return device_text(value);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return fmt::format("{}", value);
  } else if constexpr (std::is_convertible_v<Value, std::string>) {
    return value;
  } else {
    return "";
  }
}

}  // namespace vernier::table
