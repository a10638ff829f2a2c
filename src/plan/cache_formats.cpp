#include "plan/cache_formats.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "base/format_definition.h"
#include "vernier/error.h"
#include "vernier/error_code.h"

namespace vernier {

std::vector<Format> cache_formats(Format own, const std::vector<Format>& low, bool ladder) {
  std::vector<Format> formats = {own};
  if (!ladder) return formats;
  std::ranges::copy_if(low, std::back_inserter(formats),
                       [&](Format rung) { return !needs_scale(rung) && bits_of(rung) > bits_of(own); });
  return formats;
}

void check_caches(const std::vector<Layer>& layers, const PrecisionOptions& precision) {
  if (!precision.rules.kv_cache) return;
  const Format format = *precision.rules.kv_cache;
  if (std::ranges::find(kCacheFormats, format) == kCacheFormats.end()) {
    throw Error(ErrorCode::BadValue, fmt::format("‹kv-cache› {}: no cache is stored in it", format_name(format)),
                "‹kv-cache› float16, bfloat16, float8e4m3fn or int8");
  }
  if (bits_of(format) >= bits_of(precision.high) && format != precision.high) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("‹kv-cache› {} takes no fewer bits than the high format, {}", format_name(format),
                            format_name(precision.high)),
                "‹kv-cache› int8 or float8e4m3fn");
  }
  if (precision.rules.weights_only && needs_scale(format)) {
    throw Error(ErrorCode::Contradiction,
                fmt::format("‹kv-cache› {} quantizes activations, and weights alone are to be", format_name(format)),
                "‹kv-cache› float16");
  }
  if (std::ranges::none_of(layers, &Layer::cache)) {
    throw Error(ErrorCode::LayerCannot, "‹kv-cache›: the network has no cache",
                "a cache is an output that a Concat, TensorScatter or Attention makes of an input and new values");
  }
}

}  // namespace vernier
