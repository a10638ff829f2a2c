#include "base/elements.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "vernier/error.h"

namespace vernier {

float float16_value(std::uint16_t bits) {
  // The exponents differ by 112; a product, unlike a sum of exponents, also gets subnormals right.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFFU) << 13U;
  std::uint32_t value = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  if (magnitude >= 0x0F800000U) value = 0x7F800000U | (magnitude & 0x007FFFFFU);
  return std::bit_cast<float>(value | static_cast<std::uint32_t>(bits & 0x8000U) << 16U);
}

namespace {

float bfloat16_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U); }

float float8e4m3fn_to_float(std::uint8_t bits) {
  static const std::array<float, 256> kTable = [] {
    std::array<float, 256> table{};
    for (unsigned code = 0; code < 256; ++code) {
      const int exponent = static_cast<int>((code >> 3U) & 15U);
      const int mantissa = static_cast<int>(code & 7U);
      float value = exponent == 0 ? std::ldexp(static_cast<float>(mantissa), -9)
                                  : std::ldexp(static_cast<float>(8 + mantissa), exponent - 10);
      if (exponent == 15 && mantissa == 7) value = std::numeric_limits<float>::quiet_NaN();  // it has no infinity
      table[code] = code >= 128 ? -value : value;
    }
    return table;
  }();
  return kTable[bits];
}

// float8e5m2 is the upper half of a float16.
float float8e5m2_to_float(std::uint8_t bits) { return float16_value(static_cast<std::uint16_t>(bits << 8U)); }

template <class From, class To, class Convert>
void convert(const Tensor& tensor, std::int64_t first, std::span<To> out, const Convert& one) {
  const From* from = reinterpret_cast<const From*>(tensor.bytes().data()) + first;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<To>(one(from[i]));
}

template <class To>
void nibbles(const Tensor& tensor, std::int64_t first, std::span<To> out, bool is_signed) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t at = static_cast<std::size_t>(first) + i;
    const unsigned code = (std::to_integer<unsigned>(tensor.bytes()[at / 2]) >> (at % 2 * 4)) & 15U;
    out[i] = static_cast<To>(is_signed && code >= 8 ? static_cast<int>(code) - 16 : static_cast<int>(code));
  }
}

/// True when `dtype` was an integer or bool, and is read.
template <class To>
bool read_integers(const Tensor& tensor, std::int64_t first, std::span<To> out) {
  const auto same = [](auto value) { return value; };
  switch (tensor.dtype()) {
    case Dtype::Int8:
      convert<std::int8_t>(tensor, first, out, same);
      return true;
    case Dtype::UInt8:
      convert<std::uint8_t>(tensor, first, out, same);
      return true;
    case Dtype::Int16:
      convert<std::int16_t>(tensor, first, out, same);
      return true;
    case Dtype::UInt16:
      convert<std::uint16_t>(tensor, first, out, same);
      return true;
    case Dtype::Int32:
      convert<std::int32_t>(tensor, first, out, same);
      return true;
    case Dtype::UInt32:
      convert<std::uint32_t>(tensor, first, out, same);
      return true;
    case Dtype::Int64:
      convert<std::int64_t>(tensor, first, out, same);
      return true;
    case Dtype::UInt64:
      convert<std::uint64_t>(tensor, first, out, same);
      return true;
    case Dtype::Bool:
      convert<std::uint8_t>(tensor, first, out, [](std::uint8_t value) { return value != 0; });
      return true;
    case Dtype::Int4:
    case Dtype::UInt4:
      nibbles(tensor, first, out, tensor.dtype() == Dtype::Int4);
      return true;
    default:
      return false;
  }
}

template <class To>
bool read_small_floats(const Tensor& tensor, std::int64_t first, std::span<To> out) {
  switch (tensor.dtype()) {
    case Dtype::Float32:
      convert<float>(tensor, first, out, [](float value) { return value; });
      return true;
    case Dtype::Float16:
      convert<std::uint16_t>(tensor, first, out, float16_value);
      return true;
    case Dtype::BFloat16:
      convert<std::uint16_t>(tensor, first, out, bfloat16_to_float);
      return true;
    case Dtype::Float8E4M3FN:
      convert<std::uint8_t>(tensor, first, out, float8e4m3fn_to_float);
      return true;
    case Dtype::Float8E5M2:
      convert<std::uint8_t>(tensor, first, out, float8e5m2_to_float);
      return true;
    default:
      return false;
  }
}

template <class T>
constexpr Dtype kNative = std::is_same_v<T, float>    ? Dtype::Float32
                          : std::is_same_v<T, double> ? Dtype::Float64
                                                      : Dtype::Int64;

}  // namespace

bool fits_float32(Dtype dtype) {
  return dtype == Dtype::Float32 || dtype == Dtype::Float16 || dtype == Dtype::BFloat16 ||
         dtype == Dtype::Float8E4M3FN || dtype == Dtype::Float8E5M2;
}

bool is_float(Dtype dtype) { return dtype == Dtype::Float64 || fits_float32(dtype); }

bool is_integer(Dtype dtype) {
  return !is_float(dtype) && dtype != Dtype::Bool && dtype != Dtype::String && dtype != Dtype::Undefined;
}

template <class T>
std::span<const T> read_block(const Tensor& tensor, std::int64_t first, std::size_t n, std::vector<T>& room) {
  if (tensor.dtype() == kNative<T>) return {reinterpret_cast<const T*>(tensor.bytes().data()) + first, n};
  room.resize(n);
  const std::span<T> out(room);
  bool read = read_integers(tensor, first, out);
  if constexpr (!std::is_same_v<T, std::int64_t>) read = read || read_small_floats(tensor, first, out);
  if (!read) {
    throw Error(ErrorKind::Internal, fmt::format("{} elements cannot be read as numbers", dtype_name(tensor.dtype())));
  }
  return out;
}

template std::span<const float> read_block(const Tensor&, std::int64_t, std::size_t, std::vector<float>&);
template std::span<const double> read_block(const Tensor&, std::int64_t, std::size_t, std::vector<double>&);
template std::span<const std::int64_t> read_block(const Tensor&, std::int64_t, std::size_t, std::vector<std::int64_t>&);

}  // namespace vernier
