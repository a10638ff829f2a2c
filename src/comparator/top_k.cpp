#include "comparator/top_k.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <optional>
#include <span>
#include <type_traits>
#include <vector>

#include "base/elements.h"
#include "base/text.h"
#include "vernier/comparison.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/runs.h"

namespace vernier {
namespace {

template <class T>
bool larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a) || std::isnan(b)) return std::isnan(b) && !std::isnan(a);
  }
  return a > b;
}

template <class T>
Tensor largest_along(const Tensor& tensor, std::size_t k, std::size_t axis) {
  const Shape& shape = tensor.shape();
  const auto product = [&](std::size_t from, std::size_t to) {
    std::size_t size = 1;
    for (std::size_t i = from; i < to; ++i) size *= static_cast<std::size_t>(shape[i]);
    return size;
  };
  const std::size_t outer = product(0, axis);
  const std::size_t length = product(axis, axis + 1);
  const std::size_t inner = product(axis + 1, shape.size());
  Shape out_shape = shape;
  out_shape[axis] = static_cast<std::int64_t>(k);
  Tensor out(Dtype::Int64, out_shape);
  auto* to = reinterpret_cast<std::int64_t*>(out.mutable_bytes().data());
  std::vector<T> room;
  const std::span<const T> values = read_block(tensor, 0, static_cast<std::size_t>(tensor.count()), room);
  std::vector<std::int64_t> order(length);
  for (std::size_t i = 0; i < outer; ++i) {
    for (std::size_t j = 0; j < inner; ++j) {
      const T* const first = values.data() + i * length * inner + j;
      std::iota(order.begin(), order.end(), 0);
      const auto before = [&](std::int64_t a, std::int64_t b) {
        const T one = first[static_cast<std::size_t>(a) * inner];
        const T other = first[static_cast<std::size_t>(b) * inner];
        return larger(one, other) || (!larger(other, one) && a < b);
      };
      std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(), before);
      for (std::size_t place = 0; place < k; ++place) to[(i * k + place) * inner + j] = order[place];
    }
  }
  return out;
}

}  // namespace

Tensor top_k(const Tensor& tensor, std::int64_t k, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(tensor.shape().size());
  if (axis < -rank || axis >= rank) {
    throw Error(ErrorCode::BadValue,
                fmt::format("top-{}: shape {} has no axis {}", k, tuple_text(tensor.shape()), axis));
  }
  if (dtype_bits(tensor.dtype()) == 0) {
    throw Error(ErrorCode::NotMeasurable,
                fmt::format("top-{}: {} elements have no order", k, dtype_name(tensor.dtype())));
  }
  const auto at = static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
  if (tensor.shape()[at] == 1 && tensor.count() > 1) {
    throw Error(
        ErrorCode::BadValue,
        fmt::format("top-{}: axis {} of shape {} has one element, so that every index is 0: nothing would be compared",
                    k, axis, tuple_text(tensor.shape())),
        fmt::format("top-{},axis=1, for example", k));
  }
  const auto kept = static_cast<std::size_t>(std::clamp<std::int64_t>(k, 0, tensor.shape()[at]));
  if (tensor.dtype() == Dtype::Float32) return largest_along<float>(tensor, kept, at);
  if (is_float(tensor.dtype()) || tensor.dtype() == Dtype::UInt64) return largest_along<double>(tensor, kept, at);
  return largest_along<std::int64_t>(tensor, kept, at);
}

void postprocess(Iteration& iteration, const PerOutput<TopK>& options) {
  for (NamedTensor& output : iteration.outputs) {
    if (const std::optional<TopK> top = options.for_output(output.name)) {
      output.tensor = top_k(output.tensor, top->k, top->axis);
    }
  }
}

}  // namespace vernier
