// When weights are kept once.
#pragma once

#include <cstddef>

namespace vernier {

/// Of more bytes of weights, no rounded or decoded copies are kept, and sessions run without optimizations, which copy
/// and pack them: a job takes 5 to 9 times the weights otherwise. Cost, 25 M weights of convolutions: none where few
/// samples run, since sessions are built sooner, and a quarter more CPU time in a search (docs/records/exports.md).
inline constexpr std::size_t kOneCopyAbove = std::size_t{64} << 20U;

}  // namespace vernier
