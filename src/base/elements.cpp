#include "base/elements.h"

#include <fmt/format.h>

#include <type_traits>

#include "base/float_codes.h"
#include "base/nibbles.h"
#include "vernier/error.h"

namespace vernier {

namespace {

template <class From, class To, class Convert>
void convert(const Tensor& tensor, std::int64_t first, std::span<To> out, const Convert& one) {
  const From* from = reinterpret_cast<const From*>(tensor.bytes().data()) + first;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<To>(one(from[i]));
}

template <class To>
void nibbles(const Tensor& tensor, std::int64_t first, std::span<To> out, bool is_signed) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i] = static_cast<To>(nibble(tensor.bytes(), static_cast<std::size_t>(first) + i, is_signed));
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
      convert<std::uint16_t>(tensor, first, out, bfloat16_value);
      return true;
    case Dtype::Float8E4M3FN:
      convert<std::uint8_t>(tensor, first, out, float8e4m3fn_value);
      return true;
    case Dtype::Float8E5M2:
      convert<std::uint8_t>(tensor, first, out, float8e5m2_value);
      return true;
    case Dtype::Float8E8M0:
      convert<std::uint8_t>(tensor, first, out, float8e8m0_value);
      return true;
    case Dtype::Float4E2M1:
      for (std::size_t i = 0; i < out.size(); ++i) {
        const int code = nibble(tensor.bytes(), static_cast<std::size_t>(first) + i, /*is_signed=*/false);
        out[i] = static_cast<To>(float4e2m1_value(static_cast<std::uint8_t>(code)));
      }
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
         dtype == Dtype::Float8E4M3FN || dtype == Dtype::Float8E5M2 || dtype == Dtype::Float8E8M0 ||
         dtype == Dtype::Float4E2M1;
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
