#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "comparator/functions.h"
#include "numerics/round.h"
#include "vernier/format.h"
#include "vernier/tensor.h"

namespace vernier {
namespace {

/// Numbers that order as the values do, neighbours one apart; +0 and -0 are the same.
template <class Bits>
std::int64_t ordered(Bits bits) {
  constexpr Bits kSign = static_cast<Bits>(Bits{1} << (sizeof(Bits) * 8 - 1));
  const auto magnitude = static_cast<std::int64_t>(static_cast<Bits>(bits & static_cast<Bits>(~kSign)));
  return (bits & kSign) != 0 ? -magnitude : magnitude;
}

double apart(std::int64_t a, std::int64_t b) {
  const auto distance = a > b ? static_cast<std::uint64_t>(a) - static_cast<std::uint64_t>(b)
                              : static_cast<std::uint64_t>(b) - static_cast<std::uint64_t>(a);
  return static_cast<double>(distance);
}

template <class T>
bool both_finite(T got, T ref) {
  return std::isfinite(got) && std::isfinite(ref);
}

/// In the type that T is.
template <class T>
double largest_distance(const Pair& pair) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  double largest = 0;
  pair.for_blocks<double>([&](std::span<const double> got, std::span<const double> ref, std::int64_t) {
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!both_finite(got[i], ref[i])) continue;
      largest = std::max(largest, apart(ordered(std::bit_cast<Bits>(static_cast<T>(got[i]))),
                                        ordered(std::bit_cast<Bits>(static_cast<T>(ref[i])))));
    }
  });
  return largest;
}

/// In a format below float32, whose codes are its bits.
template <class Bits>
double largest_distance(const Pair& pair, Format format) {
  QuantParams params;
  params.format = format;
  if (needs_scale(format)) params.scale = {1.0F};
  double largest = 0;
  pair.for_blocks<double>([&](std::span<const double> got, std::span<const double> ref, std::int64_t) {
    const auto codes = [&](std::span<const double> values) {
      const std::vector<float> floats(values.begin(), values.end());
      return encode(params, 1, static_cast<std::int64_t>(floats.size()), floats);
    };
    const std::vector<std::byte> got_codes = codes(got);
    const std::vector<std::byte> ref_codes = codes(ref);
    const auto* got_bits = reinterpret_cast<const Bits*>(got_codes.data());
    const auto* ref_bits = reinterpret_cast<const Bits*>(ref_codes.data());
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!both_finite(got[i], ref[i])) continue;
      largest = std::max(largest, apart(ordered(got_bits[i]), ordered(ref_bits[i])));
    }
  });
  return largest;
}

}  // namespace

Figure ulp_distance(Pair& pair) {
  if (pair.in_integers()) return {pair.sums().max_abs_error, ""};
  switch (coarser_dtype(pair.got().dtype(), pair.ref().dtype())) {
    case Dtype::Float64:
      return {largest_distance<double>(pair), ""};
    case Dtype::Float16:
      return {largest_distance<std::uint16_t>(pair, Format::Float16), ""};
    case Dtype::BFloat16:
      return {largest_distance<std::uint16_t>(pair, Format::BFloat16), ""};
    case Dtype::Float8E4M3FN:
      return {largest_distance<std::uint8_t>(pair, Format::Float8E4M3FN), ""};
    case Dtype::Float8E5M2:
      return {largest_distance<std::uint8_t>(pair, Format::Float8E5M2), ""};
    default:
      return {largest_distance<float>(pair), ""};
  }
}

}  // namespace vernier
