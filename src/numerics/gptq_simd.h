// What gptq.cpp asks of the SIMD code: sums of products, the same bits on every instruction set.
#pragma once

#include <array>
#include <cstddef>

namespace vernier {

/// A sum of products is kept as so many sums side by side: product i belongs to sum i % kDotLanes, in order.
inline constexpr std::size_t kDotLanes = 16;
inline constexpr std::size_t kDotRows = 2, kDotColumns = 4;
using LaneSums = std::array<std::array<std::array<float, kDotLanes>, kDotColumns>, kDotRows>;
/// Of each row with each column, which may be the same. `count`: a multiple of kDotLanes, as long as all of them.
void run_lane_sums(const std::array<const float*, kDotRows>& rows, const std::array<const float*, kDotColumns>& columns,
                   std::size_t count, LaneSums& sums);

/// Results that are rounded side by side: their errors stay in the cache.
inline constexpr std::size_t kResultsTogether = 64;
/// sums[m] = sum over i of shares[i] * errors[i * kResultsTogether + m], in order.
void run_shared_errors(const float* shares, const float* errors, std::size_t count,
                       std::array<float, kResultsTogether>& sums);

}  // namespace vernier
