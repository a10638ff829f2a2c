// What ONNX Runtime says, in words that need no knowledge of its insides.
#pragma once

#include <string>
#include <string_view>

namespace vernier {

struct PlainError {
  std::string node, op;  // that it refuses; empty where it names none
  std::string reason;

  /// "node 'a' (MatMul): reason"
  std::string text() const;
};

/// The message in our words where it is one that users meet; else as it is.
PlainError in_plain_words(std::string_view message);

/// Whether it ran out of memory, of the CPU or of a GPU. There is no status code for that.
bool is_of_memory(std::string_view message);

}  // namespace vernier
