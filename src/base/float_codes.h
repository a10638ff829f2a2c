// Codes of the float formats narrower than float32, and the values that they stand for: IEEE binary16, bfloat16, the
// two FP8 formats of OCP, and E2M1 and E8M0 of its microscaling formats. The one home of which bits mean what; rounding
// a value to a format's grid, with all that saturation and counting need, is numerics/round.h. All in line: whole
// tensors go through here.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace vernier {

/// The float32 that a binary16 code stands for; exact, infinities and NaN (with its payload) included.
inline float float16_value(std::uint16_t bits) {
  // The exponents differ by 112; a product, unlike a sum of exponents, also gets subnormals right.
  const std::uint32_t magnitude = static_cast<std::uint32_t>(bits & 0x7FFFU) << 13U;
  std::uint32_t value = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) * 0x1p112F);
  if (magnitude >= 0x0F800000U) value = 0x7F800000U | (magnitude & 0x007FFFFFU);
  return std::bit_cast<float>(value | static_cast<std::uint32_t>(bits & 0x8000U) << 16U);
}

/// The float32 whose upper half a bfloat16 code is; exact.
inline float bfloat16_value(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16U);
}

/// The float32 that a code of E4M3FN stands for; exact. No infinities; 0x7F and 0xFF are NaN.
inline float float8e4m3fn_value(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x80U) << 24U;
  const std::uint32_t magnitude = bits & 0x7FU;
  if (magnitude == 0x7FU) return std::bit_cast<float>(sign | 0x7FC00000U);
  // Where its exponent and mantissa lie in a binary16, they stand for 2^-8 of the value.
  return std::bit_cast<float>(
      sign | std::bit_cast<std::uint32_t>(float16_value(static_cast<std::uint16_t>(magnitude << 7U)) * 0x1p8F));
}

/// The float32 that a code of E5M2 stands for: it is the upper half of a binary16. Exact, infinities and NaN included.
inline float float8e5m2_value(std::uint8_t bits) { return float16_value(static_cast<std::uint16_t>(bits << 8U)); }

/// The binary16 nearest to `value`, ties to even; overflow gives infinity, NaN the quiet NaN of its sign. From a
/// double, so that a value that was computed in double is rounded once.
inline std::uint16_t float16_bits(double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(sign | 0x7E00U);
  // 65520 lies halfway between the largest number, 65504, and the next power of two: it rounds to even, to infinity.
  if (magnitude >= 65520.0) return static_cast<std::uint16_t>(sign | 0x7C00U);
  if (magnitude < 0x1p-14) {
    // In steps of 2^-24; the sum has no digits behind the point, so that the addition rounds.
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint64_t>(magnitude * 0x1p24 + 0x1p52) & 0xFFFFU));
  }
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(magnitude);
  constexpr unsigned kDropped = 52 - 10;  // bits of the mantissa
  const std::uint64_t rounded =
      (bits + (std::uint64_t{1} << (kDropped - 1U)) - 1U + (bits >> kDropped & 1U)) >> kDropped;
  return static_cast<std::uint16_t>(sign | (rounded - ((1023ULL - 15ULL) << 10U)));
}

/// The bfloat16 nearest to `value`, ties to even; overflow gives infinity, NaN a quiet NaN of its sign and payload.
inline std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16U | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

/// The code of a value that lies on the grid of E4M3FN; NaN gives 0x7F or 0xFF. What lies elsewhere has no code.
inline std::uint8_t float8e4m3fn_bits(float value) {
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 0x80U : 0U);
  if (std::isnan(value)) return static_cast<std::uint8_t>(sign | 0x7FU);
  return static_cast<std::uint8_t>(sign | (float16_bits(static_cast<double>(value) * 0x1p-8) >> 7U & 0x7FU));
}

/// The code of a value that lies on the grid of E5M2, infinities among them; NaN gives 0x7E or 0xFE.
inline std::uint8_t float8e5m2_bits(float value) {
  return static_cast<std::uint8_t>(float16_bits(static_cast<double>(value)) >> 8U);
}

/// The float32 that a code of E2M1, in the low half of `bits`, stands for; exact. No infinities, no NaN.
inline float float4e2m1_value(std::uint8_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 8U) << 28U;
  // Where its exponent and mantissa lie in a binary16, they stand for 2^-14 of the value.
  return std::bit_cast<float>(
      sign | std::bit_cast<std::uint32_t>(float16_value(static_cast<std::uint16_t>((bits & 7U) << 9U)) * 0x1p14F));
}

/// The code of a value that lies on the grid of E2M1; NaN, which it does not have, gives 0.
inline std::uint8_t float4e2m1_bits(float value) {
  if (std::isnan(value)) return 0;
  const auto sign = static_cast<std::uint8_t>(std::signbit(value) ? 8U : 0U);
  return static_cast<std::uint8_t>(sign | (float16_bits(static_cast<double>(value) * 0x1p-14) >> 9U & 7U));
}

/// The float32 that a code of E8M0 stands for: 2^(bits - 127), a subnormal for 0; 255 is NaN.
inline float float8e8m0_value(std::uint8_t bits) {
  if (bits == 0xFFU) return std::bit_cast<float>(0x7FC00000U);
  return std::bit_cast<float>(bits == 0 ? 0x00400000U : static_cast<std::uint32_t>(bits) << 23U);
}

/// The code of a power of two in [2^-127, 2^127].
inline std::uint8_t float8e8m0_bits(float value) {
  return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(value) >> 23U & 0xFFU);
}

}  // namespace vernier
