#include "io/convert.h"

#include <fmt/format.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>

#include "base/float_codes.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {
namespace {

// Bytes from files may start anywhere, hence memcpy instead of a typed view.
template <class T>
T load(std::span<const std::byte> bytes, std::size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

template <class To, class From, class Function>
Tensor map(const Tensor& found, Dtype to, Function function) {
  Tensor made(to, found.shape());
  const std::span<const std::byte> from = found.bytes();
  auto* out = reinterpret_cast<To*>(made.mutable_bytes().data());
  for (std::size_t i = 0; i < static_cast<std::size_t>(found.count()); ++i) out[i] = function(load<From>(from, i));
  return made;
}

}  // namespace

bool convertible(Dtype from, Dtype to) {
  if (from == to) return true;
  if (to == Dtype::Float32) return from == Dtype::Float64 || from == Dtype::Float16 || from == Dtype::UInt8;
  return (from == Dtype::Int32 && to == Dtype::Int64) || (from == Dtype::Int64 && to == Dtype::Int32);
}

Tensor convert(const Tensor& found, Dtype to, const std::string& where) {
  if (found.dtype() == to) return found;
  if (!convertible(found.dtype(), to)) {
    throw Error(ErrorKind::Internal,
                fmt::format("no conversion from {} to {}", dtype_name(found.dtype()), dtype_name(to)));
  }
  switch (found.dtype()) {
    case Dtype::Float64:
      return map<float, double>(found, to, [](double value) {
        // Rounding to float32 is the only overflow that C++ leaves undefined; it is infinity here, and refused later.
        if (std::fabs(value) > std::numeric_limits<float>::max()) {
          return std::copysign(std::numeric_limits<float>::infinity(),
                               static_cast<float>(std::signbit(value) ? -1 : 1));
        }
        return static_cast<float>(value);
      });
    case Dtype::Float16:
      return map<float, std::uint16_t>(found, to, float16_value);
    case Dtype::UInt8:
      return map<float, std::uint8_t>(found, to, [](std::uint8_t value) { return static_cast<float>(value); });
    case Dtype::Int32:
      return map<std::int64_t, std::int32_t>(found, to, [](std::int32_t value) { return std::int64_t{value}; });
    default:
      return map<std::int32_t, std::int64_t>(found, to, [&where](std::int64_t value) {
        if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max()) {
          throw Error(ErrorCode::SampleValues, fmt::format("{}: {} does not fit into int32", where, value));
        }
        return static_cast<std::int32_t>(value);
      });
  }
}

}  // namespace vernier
