// Sums of one block of numbers, in eight lanes so that they can be vectors; the order of additions does not depend on
// the instruction set.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace vernier {

template <class T>
bool all_finite(std::span<const T> values) {
  using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
  constexpr Bits kExponent = sizeof(T) == 4 ? static_cast<Bits>(0x7F800000U) : static_cast<Bits>(0x7FF0000000000000U);
  Bits largest = 0;
  for (const T value : values) largest = std::max(largest, std::bit_cast<Bits>(value) & kExponent);
  return largest != kExponent;
}

inline constexpr std::size_t kLanes = 8;

/// Of finite numbers, at least one.
template <class T>
struct Moments {
  std::array<double, kLanes> sum{}, magnitude{};
  std::array<T, kLanes> low, high;

  explicit Moments(std::span<const T> values) {
    low.fill(values[0]);
    high.fill(values[0]);
    std::size_t i = 0;
    for (; i + kLanes <= values.size(); i += kLanes) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) take(values[i + lane], lane);
    }
    for (; i < values.size(); ++i) take(values[i], i % kLanes);
  }
  void take(T value, std::size_t lane) {
    sum[lane] += static_cast<double>(value);
    magnitude[lane] += static_cast<double>(std::abs(value));
    low[lane] = value < low[lane] ? value : low[lane];
    high[lane] = value > high[lane] ? value : high[lane];
  }
};

template <class Values>
double total(const Values& lanes) {
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

template <class T>
double squared_distances(std::span<const T> values, double mean) {
  std::array<double, kLanes> sum{};
  std::size_t i = 0;
  const auto take = [&](T value, std::size_t lane) {
    const double distance = static_cast<double>(value) - mean;
    sum[lane] += distance * distance;
  };
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(values[i + lane], lane);
  }
  for (; i < values.size(); ++i) take(values[i], i % kLanes);
  return total(sum);
}

}  // namespace vernier
