#include "numerics/grid.h"

#include <fmt/format.h>

#include <cfloat>
#include <cmath>
#include <limits>
#include <string_view>

#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

void check_scales(const QuantParams& params) {
  const std::string_view name = format_name(params.format);
  if (!needs_scale(params.format)) {
    if (!params.scale.empty()) {
      throw Error(ErrorKind::Internal, fmt::format("{} takes no scale but {} were given", name, params.scale.size()));
    }
    return;
  }
  if (params.scale.empty()) throw Error(ErrorKind::Internal, fmt::format("{} needs a scale but none was given", name));
  for (std::size_t i = 0; i < params.scale.size(); ++i) {
    if (!(params.scale[i] > 0.0f) || !std::isfinite(params.scale[i])) {
      throw Error(ErrorKind::Internal,
                  fmt::format("scale {} of {} is {}, not a positive finite number", i, name, params.scale[i]));
    }
  }
}

void check_codes(const QuantParams& params) {
  if (!params.zero_point.empty() && params.zero_point.size() != params.scale.size()) {
    throw Error(ErrorKind::Internal,
                fmt::format("{} zero points for {} scales", params.zero_point.size(), params.scale.size()));
  }
  const CodeRange range = code_range(params.format);
  for (const std::int32_t zero : params.zero_point) {
    if (zero < range.lowest || zero > range.highest) {
      throw Error(ErrorKind::Internal, fmt::format("zero point {} is outside the range [{}, {}] of {}", zero,
                                                   range.lowest, range.highest, format_name(params.format)));
    }
  }
  if (params.lowest_code < range.lowest || params.lowest_code > range.highest) {
    throw Error(ErrorKind::Internal,
                fmt::format("lowest value {} is outside the range [{}, {}] of {}", params.lowest_code, range.lowest,
                            range.highest, format_name(params.format)));
  }
}

}  // namespace

const FloatGrid* float_grid(Format format) { return definition_of(format).floats; }

CodeRange code_range(Format format) { return definition_of(format).integers; }

bool is_integer(Format format) { return code_range(format).highest != 0; }

ValueGrid value_grid(const QuantParams& params) {
  if (is_integer(params.format)) {
    const CodeRange codes = code_range(params.format);
    return {.kind = GridKind::Integer,
            .lowest = static_cast<float>(params.lowest_code != 0 ? params.lowest_code : codes.lowest),
            .highest = static_cast<float>(codes.highest)};
  }
  const FloatGrid* const format = float_grid(params.format);
  if (format == nullptr) return {.kind = GridKind::Exact, .least_power = FLT_MIN};
  ValueGrid grid{.top = format->max_finite,
                 .least_power = std::ldexp(1.0f, format->min_exponent),
                 .magic_factor = std::ldexp(1.0f, 23 - format->mantissa_bits),
                 .limit = format->limit,
                 .tie_stays = format->tie_stays ? 1 : 0};
  switch (params.format) {
    case Format::Float16:
      grid.kind = GridKind::Half;
      grid.top = 65536.0f;  // the first power of two past the format: what reaches it is infinite
      break;
    case Format::BFloat16:
      grid.kind = GridKind::UpperBits;
      break;
    default:
      grid.kind = GridKind::Saturating;
  }
  return grid;
}

BlockGrid block_grid(Format format, float tensor_scale) {
  const FormatDefinition& definition = definition_of(format);
  const float largest = definition.floats->max_finite;
  if (definition.block_scale == BlockScale::E8M0) return {.scales = {}, .largest_power = std::ilogb(largest)};
  QuantParams scales;
  scales.format = Format::Float8E4M3FN;
  constexpr float kLeast = 0x1p-9F;  // E4M3's smallest subnormal
  return {
      .scales = value_grid(scales), .divisor = largest * tensor_scale, .tensor_scale = tensor_scale, .least = kLeast};
}

bool is_unsigned(Format format) { return is_integer(format) && code_range(format).lowest == 0; }

std::string_view scale_defect(float scale, Format format) {
  const bool smallest_power = definition_of(format).block_scale == BlockScale::E8M0 && scale == 0x1p-127F;
  if (!is_usable_scale(scale) && !smallest_power) {
    if (!std::isfinite(scale)) return "is not finite";
    return scale <= 0 ? "is not positive" : "is subnormal, smaller than 1.18e-38";
  }
  const FloatGrid* grid = float_grid(format);
  const CodeRange codes = code_range(format);
  // Codes of uint8 are counted from a zero point: half of them, as of int8, lie on its longer side at least.
  const double largest = grid != nullptr      ? static_cast<double>(grid->max_finite)
                         : is_integer(format) ? (codes.highest - codes.lowest) / 2
                                              : 1;
  // The scale of a whole float32 range may have been rounded up.
  constexpr double kMost = static_cast<double>(std::numeric_limits<float>::max()) * (1 + 1e-6);
  if (static_cast<double>(scale) * largest > kMost) return "is too large: float32 cannot hold the dequantized values";
  return {};
}

GridLayout checked_layout(const QuantParams& params, std::int64_t channels, std::int64_t inner, std::size_t size) {
  check_scales(params);
  check_codes(params);
  if (params.scale.size() <= 1) return {.outer = 1, .channels = 1, .inner = size};

  if (channels < 0 || inner < 0 || static_cast<std::size_t>(channels) != params.scale.size()) {
    throw Error(ErrorKind::Internal,
                fmt::format("{} scales for a tensor read as [outer, {}, {}]", params.scale.size(), channels, inner));
  }
  const GridLayout shape{0, static_cast<std::size_t>(channels), static_cast<std::size_t>(inner)};
  if (size == 0) return shape;
  const std::size_t slice = shape.channels * shape.inner;
  if (slice == 0 || size % slice != 0) {
    throw Error(ErrorKind::Internal, fmt::format("{} values cannot be read as [outer, {}, {}]", size, channels, inner));
  }
  return {size / slice, shape.channels, shape.inner};
}

}  // namespace vernier
