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
  const std::optional<MergedAxis> merged = merged_axis(from, to, axis);
  return merged && merged->inner == 1 ? std::optional(merged->axis) : std::nullopt;
}

namespace {

/// Elements of one place along the axis `end`. Unknown sizes, which are batches, count as 1.
std::int64_t elements_before(const Shape& shape, std::size_t end) {
  std::int64_t product = 1;
  for (std::size_t i = 0; i < end; ++i) product *= std::max<std::int64_t>(shape[i], 1);
  return product;
}

}  // namespace

std::optional<MergedAxis> merged_axis(const Shape& from, const Shape& to, int axis) {
  if (axis < 0) return std::nullopt;
  const auto at = static_cast<std::size_t>(axis);
  if (at >= from.size() || from[at] < 0) return std::nullopt;
  std::optional<MergedAxis> found;
  for (std::size_t i = 0; i < to.size(); ++i) {
    if (elements_before(to, i) != elements_before(from, at)) continue;
    std::int64_t inner = 1;
    for (std::size_t j = at + 1; j < from.size() && from[j] > 0 && from[at] * inner < to[i]; ++j) inner *= from[j];
    if (from[at] * inner != to[i] || (found && found->inner <= inner)) continue;
    found = MergedAxis{static_cast<int>(i), inner};
  }
  return found;
}

std::optional<InnerAxis> inner_axis(const Shape& from, const Shape& to, int axis) {
  const auto at = static_cast<std::size_t>(std::max(axis, 0));
  if (axis < 0 || at >= from.size()) return std::nullopt;
  for (std::size_t first = 0; first < at; ++first) {
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (elements_before(to, i) != elements_before(from, first)) continue;
      std::int64_t product = 1;
      for (std::size_t last = first; last < from.size() && from[last] > 0 && product < to[i]; ++last) {
        product *= from[last];
        if (last < at || product != to[i]) continue;
        const std::int64_t outer = elements_before(from, at) / elements_before(from, first);
        if (outer > 1) return InnerAxis{static_cast<int>(i), outer, product / outer / from[at]};
      }
    }
  }
  return std::nullopt;
}

std::optional<MergedAxis> axis_before(const Shape& from, const Shape& to, int axis) {
  std::optional<MergedAxis> found;
  for (int i = 0; i < static_cast<int>(from.size()); ++i) {
    const std::optional<MergedAxis> merged = merged_axis(from, to, i);
    if (!merged || merged->axis != axis || (found && found->inner <= merged->inner)) continue;
    found = MergedAxis{i, merged->inner};
  }
  return found;
}

}  // namespace vernier
