// Enums of the API whose values have one word each, the same on command lines, in JSON and in texts. Beside such an
// enum stands the declaration of its words; the tables are in src/options.
//
//   enum class Target { TensorRt, OnnxRuntime, OpenVino };
//   VERNIER_API std::span<const std::string_view> words_of(Target);  // "tensorrt", ...
//
//   word_of(Target::OpenVino)           "openvino"
//   parse_word<Target>("onnxruntime")   Target::OnnxRuntime
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

namespace vernier {

/// In the order of the enum, whose values count up from 0; the argument only says which enum is meant.
template <class Enum>
concept Worded = std::is_enum_v<Enum> && requires(Enum value) {
  { words_of(value) } -> std::same_as<std::span<const std::string_view>>;
};

template <Worded Enum>
std::string_view word_of(Enum value) {
  return words_of(value)[static_cast<std::size_t>(value)];
}

/// nullopt for a word that none of them has; case matters.
template <Worded Enum>
std::optional<Enum> parse_word(std::string_view text) {
  const std::span<const std::string_view> words = words_of(Enum{});
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == text) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

}  // namespace vernier
