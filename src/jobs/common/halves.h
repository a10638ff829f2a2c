// Samples in two halves, so that each can judge what the other half taught.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace vernier {

/// Fewer samples than this stay together: each half would teach too little, and tell less.
inline constexpr std::size_t kFewestToHalve = 10;

/// Indices of samples, in their order.
using Halves = std::array<std::vector<std::size_t>, 2>;

/// Each sample in one of two halves, drawn from a fixed seed; of an odd count the second has one more. `first_alike`:
/// the first sample that each is like (analysis/alike_samples.h), which has it in its half.
Halves halves_by_lot(const std::vector<std::size_t>& first_alike);

}  // namespace vernier
