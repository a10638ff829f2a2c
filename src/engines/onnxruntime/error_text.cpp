#include "engines/onnxruntime/error_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>

namespace vernier {
namespace {

/// What stands between the two, behind `from`.
std::optional<std::string_view> between(std::string_view text, std::string_view from, std::string_view to) {
  const std::size_t start = text.find(from);
  if (start == std::string_view::npos) return std::nullopt;
  const std::size_t end = text.find(to, start + from.size());
  if (end == std::string_view::npos) return std::nullopt;
  return text.substr(start + from.size(), end - start - from.size());
}

}  // namespace

std::string PlainError::text() const {
  if (node.empty() && op.empty()) return reason;
  return op.empty() ? fmt::format("node '{}': {}", node, reason) : fmt::format("node '{}' ({}): {}", node, op, reason);
}

PlainError in_plain_words(std::string_view message) {
  // Could not find an implementation for MatMul(13) node with name 'matmul'
  if (const auto op = between(message, "Could not find an implementation for ", "(")) {
    const std::string_view name = between(message, "node with name '", "'").value_or("");
    return {std::string(name), std::string(*op), fmt::format("no kernel for the types of this {}", *op)};
  }
  // This is an invalid model. In Node, ("n", Op, "domain", -1) : (...) -> (...) , Error No opset import for domain 'd'
  if (const auto domain = between(message, "No opset import for domain '", "'")) {
    const std::string_view name = between(message, "In Node, (\"", "\"").value_or("");
    // Without its node: that is for nodes that the runtime knows.
    return {{}, {}, fmt::format("node '{}' is of domain '{}', which the model does not import", name, *domain)};
  }
  // Non-zero status code returned while running Tile node. Name:'n' Status Message: ...
  constexpr std::string_view kStatus = "Status Message: ";
  if (const std::size_t at = message.find(kStatus); at != std::string_view::npos) {
    if (const auto op = between(message, "while running ", " node. Name:'")) {
      const std::string_view name = between(message, " node. Name:'", "'").value_or("");
      return {std::string(name), std::string(*op), std::string(message.substr(at + kStatus.size()))};
    }
  }
  // Node (n) Op (MatMul) [ShapeInferenceError] Incompatible dimensions
  if (const std::size_t at = message.find("[ShapeInferenceError] "); at != std::string_view::npos) {
    const std::string_view name = between(message, "Node (", ") Op (").value_or("");
    const std::string_view op = between(message, ") Op (", ") [").value_or("");
    return {std::string(name), std::string(op), std::string(message.substr(at + 22))};
  }
  return {{}, {}, std::string(message)};
}

bool is_of_memory(std::string_view message) {
  // The arena, its limit, the C library; CUDA, cuDNN and cuBLAS (1.31.1).
  constexpr std::array<std::string_view, 6> kTexts{"Failed to allocate memory for requested buffer",
                                                   "is smaller than requested bytes",
                                                   "bad allocation",
                                                   "out of memory",
                                                   "_STATUS_ALLOC_FAILED",
                                                   "bad_alloc"};
  return std::ranges::any_of(kTexts,
                             [&](std::string_view text) { return message.find(text) != std::string_view::npos; });
}

}  // namespace vernier
