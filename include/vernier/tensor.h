// A tensor as a value: element type, shape, and bytes behind a cheap shared handle. Copying shares the bytes; nothing
// writes to bytes that are shared. It does no arithmetic: that is src/numerics/.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"

namespace vernier {

/// Element types, numbered as in ONNX TensorProto.DataType.
enum class Dtype : int {
  Undefined = 0,
  Float32 = 1,
  UInt8 = 2,
  Int8 = 3,
  UInt16 = 4,
  Int16 = 5,
  Int32 = 6,
  Int64 = 7,
  String = 8,
  Bool = 9,
  Float16 = 10,
  Float64 = 11,
  UInt32 = 12,
  UInt64 = 13,
  BFloat16 = 16,
  Float8E4M3FN = 17,
  Float8E5M2 = 19,
  UInt4 = 21,
  Int4 = 22,
  Float4E2M1 = 23,
  Float8E8M0 = 24,
};

/// "float32", "int64", ...; "undefined" for a number outside the list.
VERNIER_API std::string_view dtype_name(Dtype dtype);
/// The reverse; nullopt for a name outside the list.
VERNIER_API std::optional<Dtype> find_dtype(std::string_view name);

/// Bits of one element (4 for UInt4, Int4 and Float4E2M1); 0 for String and Undefined.
VERNIER_API int dtype_bits(Dtype dtype);

using Shape = std::vector<std::int64_t>;

/// Number of elements; 1 for a scalar (empty shape). Throws Input when a dimension is negative or the product
/// overflows.
VERNIER_API std::int64_t element_count(const Shape& shape);

/// "1x3x224x224"; "scalar" for an empty shape; "?" for a negative (unknown) dimension.
VERNIER_API std::string shape_text(const Shape& shape);

class VERNIER_API Tensor {
 public:
  Tensor() = default;

  /// Zero-filled. Throws Input when the size overflows.
  Tensor(Dtype dtype, Shape shape);

  /// Shares `bytes`, which must hold byte_size() bytes and live as long as any copy (keep the owner in the deleter).
  /// Copies them when they are not aligned to the element, as arrays inside a file may be.
  Tensor(Dtype dtype, Shape shape, std::shared_ptr<const std::byte> bytes);

  /// A float32 tensor holding a copy of `values`. Throws Input when the count does not match the shape.
  static Tensor of(Shape shape, std::span<const float> values);
  static Tensor of_int64(Shape shape, std::span<const std::int64_t> values);

  Dtype dtype() const noexcept { return dtype_; }
  const Shape& shape() const noexcept { return shape_; }
  std::int64_t count() const noexcept { return count_; }
  std::size_t byte_size() const noexcept { return byte_size_; }

  std::span<const std::byte> bytes() const noexcept { return {bytes_.get(), byte_size_}; }
  /// Ends when the last tensor that shares the bytes does: for who keeps copies of them elsewhere.
  std::weak_ptr<const std::byte> lifetime() const noexcept { return bytes_; }
  /// For filling a tensor just made with Tensor(dtype, shape); throws Internal when the bytes are shared or foreign.
  std::span<std::byte> mutable_bytes();

  /// Views of float32 / int64 elements, valid while a copy of this tensor lives. Throw Internal on another dtype.
  std::span<const float> floats() const;
  std::span<float> mutable_floats();
  std::span<const std::int64_t> int64s() const;

 private:
  Dtype dtype_ = Dtype::Undefined;
  Shape shape_;
  std::int64_t count_ = 0;
  std::size_t byte_size_ = 0;
  bool writable_ = false;
  std::shared_ptr<const std::byte> bytes_;
};

struct NamedTensor {
  std::string name;  // may be empty
  Tensor tensor;
};

}  // namespace vernier
