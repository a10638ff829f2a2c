#include "comparator/align.h"

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "base/text.h"

namespace vernier {
namespace {

/// For each axis of `to`, the axis of `from` it comes from; empty when the dimensions are not the same.
std::vector<std::size_t> permutation(const Shape& from, const Shape& to) {
  if (from.size() != to.size() || !std::is_permutation(from.begin(), from.end(), to.begin())) return {};
  std::vector<bool> taken(from.size(), false);
  std::vector<std::size_t> axes;
  for (const std::int64_t size : to) {
    std::size_t axis = 0;
    while (taken[axis] || from[axis] != size) ++axis;
    taken[axis] = true;
    axes.push_back(axis);
  }
  return axes;
}

Tensor permuted(const Tensor& tensor, const Shape& shape, const std::vector<std::size_t>& axes) {
  const auto width = static_cast<std::size_t>(dtype_bits(tensor.dtype())) / 8;
  std::vector<std::int64_t> stride(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) stride[axis - 1] = stride[axis] * tensor.shape()[axis];
  Tensor out(tensor.dtype(), shape);
  std::byte* to = out.mutable_bytes().data();
  const std::byte* from = tensor.bytes().data();
  Shape place(shape.size(), 0);
  for (std::int64_t i = 0; i < tensor.count(); ++i) {
    std::int64_t source = 0;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) source += place[axis] * stride[axes[axis]];
    std::memcpy(to + static_cast<std::size_t>(i) * width, from + static_cast<std::size_t>(source) * width, width);
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      if (++place[axis] < shape[axis]) break;
      place[axis] = 0;
    }
  }
  return out;
}

}  // namespace

std::optional<Aligned> aligned_to(const Tensor& tensor, const Shape& shape) {
  if (tensor.shape() == shape) return Aligned{tensor, ""};
  if (tensor.count() != element_count(shape)) return std::nullopt;
  const std::string change = fmt::format("from {} to {}", tuple_text(tensor.shape()), tuple_text(shape));
  if (const std::vector<std::size_t> axes = permutation(tensor.shape(), shape); !axes.empty()) {
    if (dtype_bits(tensor.dtype()) % 8 != 0) return std::nullopt;
    return Aligned{permuted(tensor, shape, axes), "permuted " + change};
  }
  // The same bytes under another shape; the owner stays alive in the deleter.
  const auto owner = std::make_shared<Tensor>(tensor);
  const std::byte* bytes = owner->bytes().data();
  return Aligned{Tensor(tensor.dtype(), shape, std::shared_ptr<const std::byte>(owner, bytes)), "reshaped " + change};
}

}  // namespace vernier
