// The formats that KV caches are stored in.
#pragma once

#include <array>
#include <vector>

#include "model/layers.h"
#include "vernier/format.h"
#include "vernier/precision.h"

namespace vernier {

/// Those that a KV cache may be stored in.
inline constexpr std::array kCacheFormats = {Format::Float16, Format::BFloat16, Format::Float8E4M3FN, Format::Int8};

/// The formats of a KV cache with one of its own, lowest first: that, and the rungs above it that hold floats.
std::vector<Format> cache_formats(Format own, const std::vector<Format>& low, bool ladder);

/// Errors: Usage for a format that no cache has, and a network without caches.
void check_caches(const std::vector<Layer>& layers, const PrecisionOptions& precision);

}  // namespace vernier
