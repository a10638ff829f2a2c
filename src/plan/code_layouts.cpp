#include "plan/code_layouts.h"

#include <algorithm>
#include <cstddef>

namespace vernier {
namespace {

Tensor with_bytes_of(const Tensor& values, Dtype dtype, const Shape& shape) {
  Tensor same(dtype, shape);
  std::ranges::copy(values.bytes(), same.mutable_bytes().begin());
  return same;
}

}  // namespace

Tensor nibbles_of(const Tensor& bytes) {
  Shape shape = bytes.shape();
  shape.back() *= 2;
  return with_bytes_of(bytes, Dtype::UInt4, shape);
}

Tensor middle_codes(Dtype dtype, const Shape& shape) {
  Tensor zeros(dtype, shape);
  std::ranges::fill(zeros.mutable_bytes(), dtype == Dtype::UInt4 ? std::byte{0x88} : std::byte{0x80});
  return zeros;
}

Tensor transposed_codes(const Tensor& codes) {
  const Shape& shape = codes.shape();
  const auto rows = static_cast<std::size_t>(shape[1]), columns = static_cast<std::size_t>(shape[2]);
  Tensor turned(codes.dtype(), {shape[0], shape[2], shape[1]});
  for (std::size_t i = 0; i < codes.byte_size(); ++i) {
    const std::size_t matrix = i / (rows * columns), row = i / columns % rows, column = i % columns;
    turned.mutable_bytes()[(matrix * columns + column) * rows + row] = codes.bytes()[i];
  }
  return turned;
}

Tensor flattened(const Tensor& values) {
  return with_bytes_of(values, values.dtype(), values.count() == 1 ? Shape{} : Shape{values.count()});
}

}  // namespace vernier
