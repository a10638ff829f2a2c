#include "analysis/axis_moves.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/model.h"
#include "model/operator_traits.h"

namespace vernier {

bool reshapes(const onnx::NodeProto& node) {
  for (const char* op_type : {"Reshape", "Flatten", "Squeeze", "Unsqueeze"}) {
    if (is_onnx(node, op_type)) return true;
  }
  return false;
}

std::optional<int> transposed_axis(const onnx::NodeProto& transpose, int axis) {
  const std::vector<std::int64_t> order = attribute_ints(transpose, "perm");
  if (order.empty()) return std::nullopt;
  if (axis < 0) axis += static_cast<int>(order.size());
  const auto place = std::ranges::find(order, axis);
  if (place == order.end()) return std::nullopt;
  return static_cast<int>(place - order.begin());
}

std::optional<int> reshaped_axis(const Shape& from, const Shape& to, int axis) {
  if (axis < 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(axis);
  if (at >= from.size() || from[at] < 0) return std::nullopt;
  const auto before = [](const Shape& shape, std::size_t end) {
    std::int64_t product = 1;
    for (std::size_t i = 0; i < end; ++i) product *= std::max<std::int64_t>(shape[i], 1);
    return product;
  };
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (to[i] == from[at] && before(to, i) == before(from, at)) return static_cast<int>(i);
  }
  return std::nullopt;
}

}  // namespace vernier
