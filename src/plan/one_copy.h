// When weights are kept once.
#pragma once

#include <cstddef>

namespace vernier {

/// Of more bytes of weights, no rounded or decoded copies are kept, and sessions run without optimizations, which copy
/// and pack them: several sessions alive take six times the weights otherwise (docs/records/exports.md).
inline constexpr std::size_t kOneCopyAbove = std::size_t{256} << 20U;

}  // namespace vernier
