#include "vernier/tensor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>

#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

struct DtypeRow {
  Dtype dtype;
  std::string_view name;
  int bits;
};

constexpr std::array<DtypeRow, 20> kDtypes{{
    {Dtype::Float32, "float32", 32},
    {Dtype::UInt8, "uint8", 8},
    {Dtype::Int8, "int8", 8},
    {Dtype::UInt16, "uint16", 16},
    {Dtype::Int16, "int16", 16},
    {Dtype::Int32, "int32", 32},
    {Dtype::Int64, "int64", 64},
    {Dtype::String, "string", 0},
    {Dtype::Bool, "bool", 8},
    {Dtype::Float16, "float16", 16},
    {Dtype::Float64, "float64", 64},
    {Dtype::UInt32, "uint32", 32},
    {Dtype::UInt64, "uint64", 64},
    {Dtype::BFloat16, "bfloat16", 16},
    {Dtype::Float8E4M3FN, "float8e4m3fn", 8},
    {Dtype::Float8E5M2, "float8e5m2", 8},
    {Dtype::UInt4, "uint4", 4},
    {Dtype::Int4, "int4", 4},
    {Dtype::Float4E2M1, "float4e2m1", 4},
    {Dtype::Float8E8M0, "float8e8m0", 8},
}};

std::shared_ptr<const std::byte> allocate_zeroed(std::size_t byte_size) {
  // Value-initialised: zero-filled. One byte at least, so that the handle is never null.
  auto bytes = std::make_shared<std::byte[]>(byte_size == 0 ? 1 : byte_size);
  const std::byte* first = bytes.get();
  return {std::move(bytes), first};
}

// Files promise nothing about where their arrays start, and a misaligned float must not be read as one.
std::shared_ptr<const std::byte> aligned(std::shared_ptr<const std::byte> bytes, std::size_t byte_size, Dtype dtype) {
  const auto width = std::max<std::uintptr_t>(1, static_cast<std::uintptr_t>(dtype_bits(dtype)) / 8);
  if (reinterpret_cast<std::uintptr_t>(bytes.get()) % width == 0) return bytes;
  auto copy = std::make_shared_for_overwrite<std::byte[]>(byte_size);
  std::memcpy(copy.get(), bytes.get(), byte_size);
  const std::byte* first = copy.get();
  return {std::move(copy), first};
}

template <class T>
Tensor copy_of(Dtype dtype, Shape shape, std::span<const T> values) {
  Tensor tensor(dtype, std::move(shape));
  if (static_cast<std::size_t>(tensor.count()) != values.size()) {
    throw Error(ErrorCode::SampleShape, fmt::format("a tensor of shape {} needs {} values, {} given",
                                                    shape_text(tensor.shape()), tensor.count(), values.size()));
  }
  if (!values.empty()) std::memcpy(tensor.mutable_bytes().data(), values.data(), values.size_bytes());
  return tensor;
}

void require_dtype(Dtype got, Dtype wanted) {
  if (got == wanted) return;
  throw Error(ErrorKind::Internal, fmt::format("read a {} tensor as {}", dtype_name(got), dtype_name(wanted)));
}

}  // namespace

std::string_view dtype_name(Dtype dtype) {
  for (const DtypeRow& row : kDtypes) {
    if (row.dtype == dtype) return row.name;
  }
  return "undefined";
}

std::optional<Dtype> find_dtype(std::string_view name) {
  for (const DtypeRow& row : kDtypes) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

int dtype_bits(Dtype dtype) {
  for (const DtypeRow& row : kDtypes) {
    if (row.dtype == dtype) return row.bits;
  }
  return 0;
}

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t dim : shape) {
    if (dim < 0)
      throw Error(ErrorCode::SampleShape, fmt::format("shape {} has a negative dimension", shape_text(shape)));
    if (dim == 0) {
      empty = true;
      continue;
    }
    if (count > std::numeric_limits<std::int64_t>::max() / 8 / dim) {
      throw Error(ErrorCode::SampleShape, fmt::format("shape {} is too large", shape_text(shape)));
    }
    count *= dim;
  }
  return empty ? 0 : count;
}

std::string shape_text(const Shape& shape) {
  if (shape.empty()) return "scalar";
  std::string text;
  for (const std::int64_t dim : shape) {
    if (!text.empty()) text += 'x';
    text += dim < 0 ? "?" : std::to_string(dim);
  }
  return text;
}

Tensor::Tensor(Dtype dtype, Shape shape)
    : dtype_(dtype),
      shape_(std::move(shape)),
      count_(element_count(shape_)),
      byte_size_((static_cast<std::size_t>(count_) * static_cast<std::size_t>(dtype_bits(dtype)) + 7) / 8),
      writable_(true),
      bytes_(allocate_zeroed(byte_size_)) {}

Tensor::Tensor(Dtype dtype, Shape shape, std::shared_ptr<const std::byte> bytes)
    : dtype_(dtype),
      shape_(std::move(shape)),
      count_(element_count(shape_)),
      byte_size_((static_cast<std::size_t>(count_) * static_cast<std::size_t>(dtype_bits(dtype)) + 7) / 8),
      bytes_(aligned(std::move(bytes), byte_size_, dtype)) {}

Tensor Tensor::of(Shape shape, std::span<const float> values) {
  return copy_of(Dtype::Float32, std::move(shape), values);
}

Tensor Tensor::of_int64(Shape shape, std::span<const std::int64_t> values) {
  return copy_of(Dtype::Int64, std::move(shape), values);
}

std::span<std::byte> Tensor::mutable_bytes() {
  if (!writable_ || bytes_.use_count() != 1) {
    throw Error(ErrorKind::Internal, "wrote to a tensor with shared bytes");
  }
  // The bytes were allocated writable by Tensor(dtype, shape) and nobody else holds them.
  return {const_cast<std::byte*>(bytes_.get()), byte_size_};
}

std::span<const float> Tensor::floats() const {
  require_dtype(dtype_, Dtype::Float32);
  return {reinterpret_cast<const float*>(bytes_.get()), static_cast<std::size_t>(count_)};
}

std::span<float> Tensor::mutable_floats() {
  require_dtype(dtype_, Dtype::Float32);
  return {reinterpret_cast<float*>(mutable_bytes().data()), static_cast<std::size_t>(count_)};
}

std::span<const std::int64_t> Tensor::int64s() const {
  require_dtype(dtype_, Dtype::Int64);
  return {reinterpret_cast<const std::int64_t*>(bytes_.get()), static_cast<std::size_t>(count_)};
}

}  // namespace vernier
