// Small tensors of every type, written as numbers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "vernier/tensor.h"

namespace vernier::testing {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

/// Elements stored as they are: bit patterns for the small floats, packed bytes for 4-bit integers.
template <class T>
Tensor stored(Dtype dtype, Shape shape, const std::vector<T>& elements) {
  Tensor tensor(dtype, std::move(shape));
  if (!elements.empty()) std::memcpy(tensor.mutable_bytes().data(), elements.data(), elements.size() * sizeof(T));
  return tensor;
}

inline Tensor floats(Shape shape, const std::vector<float>& values) { return Tensor::of(std::move(shape), values); }
inline Tensor floats(const std::vector<float>& values) {
  return Tensor::of({static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor doubles(const std::vector<double>& values) {
  return stored(Dtype::Float64, {static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor int64s(const std::vector<std::int64_t>& values) {
  return stored(Dtype::Int64, {static_cast<std::int64_t>(values.size())}, values);
}
inline Tensor bools(const std::vector<std::uint8_t>& values) {
  return stored(Dtype::Bool, {static_cast<std::int64_t>(values.size())}, values);
}
/// By bit patterns: 0x3C00 is 1.
inline Tensor float16s(const std::vector<std::uint16_t>& bits) {
  return stored(Dtype::Float16, {static_cast<std::int64_t>(bits.size())}, bits);
}

}  // namespace vernier::testing
