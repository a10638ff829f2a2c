// Scales and zero points from ranges.
#include <fmt/format.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "numerics/grid.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

float largest_code(Format format) {
  if (is_unsigned(format)) {
    throw Error(ErrorKind::Internal, fmt::format("{} has no symmetric grid", format_name(format)),
                "use asymmetric_params");
  }
  if (is_integer(format)) return static_cast<float>(code_range(format).highest);
  return float_grid(format)->max_finite;
}

/// A subnormal or zero step could not be divided by without overflow; a range that small is zero for all we know.
float usable_scale(float scale, float largest) { return is_usable_scale(scale) ? scale : 1.0f / largest; }

}  // namespace

bool is_usable_scale(float scale) { return scale >= FLT_MIN && std::isfinite(scale); }

QuantParams symmetric_params(Format format, std::span<const float> absmax, int axis) {
  QuantParams params;
  params.format = format;
  if (!needs_scale(format)) return params;
  if (absmax.empty() || (axis < 0 && absmax.size() != 1)) {
    throw Error(ErrorKind::Internal, fmt::format("{} absolute maxima for axis {}", absmax.size(), axis));
  }
  const float largest = largest_code(format);
  params.axis = axis;
  params.lowest_code = is_integer(format) ? -code_range(format).highest : 0;
  for (const float bound : absmax) {
    if (!(bound >= 0.0f) || !std::isfinite(bound)) {
      throw Error(ErrorKind::Internal, fmt::format("absolute maximum {} is not a finite number >= 0", bound));
    }
    params.scale.push_back(usable_scale(bound / largest, largest));
  }
  return params;
}

GridEnds grid_ends(const QuantParams& params, std::size_t index) {
  if (index >= params.scale.size()) {
    throw Error(ErrorKind::Internal, fmt::format("ends of grid {} of {}", index, params.scale.size()));
  }
  const auto scale = static_cast<double>(params.scale[index]);
  if (const FloatGrid* grid = float_grid(params.format); grid != nullptr) {
    const double most = scale * static_cast<double>(grid->max_finite);
    return {-most, most};
  }
  const CodeRange codes = code_range(params.format);
  const std::vector<std::int32_t>& zeros = params.zero_point;
  const double zero = zeros.empty() ? 0 : zeros.at(zeros.size() == 1 ? 0 : index);
  return {scale * ((params.lowest_code != 0 ? params.lowest_code : codes.lowest) - zero),
          scale * (codes.highest - zero)};
}

QuantParams asymmetric_params(float lo, float hi, Format format) {
  if (!std::isfinite(lo) || !std::isfinite(hi) || lo > hi) {
    throw Error(ErrorKind::Internal, fmt::format("[{}, {}] is not a finite range", lo, hi));
  }
  lo = std::min(lo, 0.0f);
  hi = std::max(hi, 0.0f);
  // In double, because hi - lo alone may overflow.
  const auto highest = static_cast<float>(code_range(format).highest);
  const auto step = static_cast<float>((static_cast<double>(hi) - static_cast<double>(lo)) / highest);
  const float scale = usable_scale(step, highest);
  const float zero = std::clamp(std::nearbyint(-lo / scale), 0.0f, highest);
  QuantParams params;
  params.format = format;
  params.scale = {scale};
  params.zero_point = {static_cast<std::int32_t>(zero)};
  return params;
}

}  // namespace vernier
