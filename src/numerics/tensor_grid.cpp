#include "numerics/tensor_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/format_definition.h"
#include "numerics/grid.h"
#include "numerics/one_value.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// What of a blocked constant shares its scales row by row: `rows` rows of `inner` elements, one scale for each column.
struct Slab {
  std::size_t offset = 0;  // of its first element
  std::size_t rows = 0;
  std::size_t inner = 0;
  std::size_t first_scale = 0;
};

template <class Visit>
void for_each_slab(const QuantParams& params, const Shape& shape, const Visit& visit) {
  const auto axis = static_cast<std::size_t>(params.axis);
  std::size_t outer = 1;
  std::size_t inner = 1;
  for (std::size_t i = 0; i < axis; ++i) outer *= static_cast<std::size_t>(shape[i]);
  for (std::size_t i = axis + 1; i < shape.size(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  const auto length = static_cast<std::size_t>(shape[axis]);
  const auto block = static_cast<std::size_t>(params.block);
  std::size_t slab = 0;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t first = 0; first < length; first += block, ++slab) {
      visit(Slab{(o * length + first) * inner, std::min(block, length - first), inner, slab * inner});
    }
  }
}

/// The parameters of one slab: per tensor when its rows have one element, else along the rows.
QuantParams params_of(const QuantParams& params, const Slab& slab) {
  QuantParams part = params;
  part.block = 0;
  part.axis = slab.inner == 1 ? -1 : 1;
  const auto cut = [&](auto& list) {
    if (list.empty()) return;
    const auto first = list.begin() + static_cast<std::ptrdiff_t>(slab.first_scale);
    list = {first, first + static_cast<std::ptrdiff_t>(slab.inner)};
  };
  cut(part.scale);
  cut(part.zero_point);
  return part;
}

/// [channels, inner] that a slab is read with under params_of().
AxisGeometry geometry_of(const Slab& slab) {
  if (slab.inner == 1) return {1, static_cast<std::int64_t>(slab.rows)};
  return {static_cast<std::int64_t>(slab.inner), 1};
}

void check_fits(const QuantParams& params, const Shape& shape, std::size_t size) {
  const bool known_axis = params.axis >= 0 && params.axis < static_cast<int>(shape.size());
  if (params.block > 0 && known_axis && scales_fit(params, shape) &&
      size == static_cast<std::size_t>(element_count(shape))) {
    return;
  }
  throw Error(ErrorKind::Internal,
              fmt::format("{} scales in blocks of {} along axis {} for {} values of shape {}", params.scale.size(),
                          params.block, params.axis, size, shape_text(shape)));
}

/// Whole blocks along the last dimension: each is a row of its own, and all are rounded in one call.
bool blocks_are_rows(const QuantParams& params, const Shape& shape, std::size_t size) {
  check_fits(params, shape, size);
  return params.axis + 1 == static_cast<int>(shape.size()) && shape.back() % params.block == 0;
}

/// [channels, inner] of a tensor without blocks, or whose blocks are rows.
AxisGeometry rows_of(const QuantParams& params, const Shape& shape) {
  if (params.block > 0) return {static_cast<std::int64_t>(params.scale.size()), params.block};
  return geometry_along(shape, params.scale.size() > 1 ? params.axis : -1);
}

}  // namespace

AxisGeometry geometry_along(const Shape& shape, int axis) {
  AxisGeometry g;
  if (axis < 0) {
    g.inner = element_count(shape);
    return g;
  }
  g.channels = shape.at(static_cast<std::size_t>(axis));
  for (std::size_t i = static_cast<std::size_t>(axis) + 1; i < shape.size(); ++i) g.inner *= shape[i];
  return g;
}

Shape scale_shape(const QuantParams& params, const Shape& shape) {
  if (params.block > 0) {
    Shape scales = shape;
    std::int64_t& length = scales.at(static_cast<std::size_t>(params.axis));
    length = (length + params.block - 1) / params.block;
    return scales;
  }
  if (params.axis < 0 || params.scale.size() == 1) return {};
  return {shape.at(static_cast<std::size_t>(params.axis))};
}

float tensor_scale_of(Format format, float absmax) {
  if (definition_of(format).block_scale != BlockScale::E4M3) return 1;
  const float scale = absmax / (kFloat4E2M1.max_finite * kFloat8E4M3FN.max_finite);
  return is_usable_scale(scale) ? scale : 1.0F;
}

std::vector<float> block_scales(Format format, std::span<const float> absmax, float tensor_scale) {
  const BlockGrid grid = block_grid(format, tensor_scale);
  std::vector<float> scales(absmax.size());
  std::ranges::transform(absmax, scales.begin(), [&](float size) { return block_scale(grid, size); });
  return scales;
}

QuantParams fixed_params(const QuantParams& params, const Shape& shape, std::span<const float> values) {
  QuantParams fixed = params;
  fixed.dynamic = false;
  if (params.block > 0) {
    fixed.axis = static_cast<int>(shape.size()) - 1;
    fixed.tensor_scale = params.scale.at(0);
    fixed.scale = block_scales(params.format, absmax_of_scales(fixed, shape, values), fixed.tensor_scale);
    return fixed;
  }
  RangeStats range;
  accumulate_range(values, range);
  const auto [scale, zero_point] = range.empty() ? scale_of_range(0, 0) : scale_of_range(range.min, range.max);
  fixed.scale = {scale};
  fixed.zero_point = {static_cast<std::int32_t>(zero_point)};
  return fixed;
}

bool scales_fit(const QuantParams& params, const Shape& shape) {
  if (params.axis >= static_cast<int>(shape.size()) || (params.axis < 0 && params.block > 0)) return false;
  return element_count(scale_shape(params, shape)) == static_cast<std::int64_t>(params.scale.size());
}

std::size_t scale_index(const QuantParams& params, const Shape& shape, std::size_t index) {
  if (params.scale.size() == 1) return 0;
  const AxisGeometry g = geometry_along(shape, params.axis);
  const auto inner = static_cast<std::size_t>(g.inner), length = static_cast<std::size_t>(g.channels);
  const std::size_t row = index / inner, along = row % length;
  if (params.block == 0) return along;
  const auto block = static_cast<std::size_t>(params.block);
  return (row / length * ((length + block - 1) / block) + along / block) * inner + index % inner;
}

void round_tensor(const QuantParams& params, const Shape& shape, std::span<const float> values, std::span<float> out,
                  RoundEvents* events) {
  if (params.dynamic) return round_tensor(fixed_params(params, shape, values), shape, values, out, events);
  if (params.block == 0 || blocks_are_rows(params, shape, values.size())) {
    const AxisGeometry g = rows_of(params, shape);
    if (events == nullptr) return round_to(params, g.channels, g.inner, values, out);
    return round_to_counting(params, g.channels, g.inner, values, out, *events);
  }
  for_each_slab(params, shape, [&](const Slab& slab) {
    const AxisGeometry g = geometry_of(slab);
    const QuantParams part = params_of(params, slab);
    const std::size_t size = slab.rows * slab.inner;
    const auto from = values.subspan(slab.offset, size);
    const auto to = out.subspan(slab.offset, size);
    if (events == nullptr) {
      round_to(part, g.channels, g.inner, from, to);
    } else {
      round_to_counting(part, g.channels, g.inner, from, to, *events);
    }
  });
}

std::vector<std::byte> encode_tensor(const QuantParams& params, const Shape& shape, std::span<const float> values) {
  if (params.dynamic) return encode_tensor(fixed_params(params, shape, values), shape, values);
  if (params.block == 0 || blocks_are_rows(params, shape, values.size())) {
    const AxisGeometry g = rows_of(params, shape);
    return encode(params, g.channels, g.inner, values);
  }
  std::vector<std::byte> codes(values.size());  // every format with blocks has codes of one byte here
  for_each_slab(params, shape, [&](const Slab& slab) {
    const AxisGeometry g = geometry_of(slab);
    const auto part =
        encode(params_of(params, slab), g.channels, g.inner, values.subspan(slab.offset, slab.rows * slab.inner));
    std::copy(part.begin(), part.end(), codes.begin() + static_cast<std::ptrdiff_t>(slab.offset));
  });
  return codes;
}

std::vector<float> decode_tensor(const QuantParams& params, const Shape& shape, std::span<const std::byte> codes) {
  if (params.block == 0 || blocks_are_rows(params, shape, codes.size())) {
    const AxisGeometry g = rows_of(params, shape);
    return decode(params, g.channels, g.inner, codes);
  }
  std::vector<float> values(codes.size());
  for_each_slab(params, shape, [&](const Slab& slab) {
    const AxisGeometry g = geometry_of(slab);
    const auto part =
        decode(params_of(params, slab), g.channels, g.inner, codes.subspan(slab.offset, slab.rows * slab.inner));
    std::copy(part.begin(), part.end(), values.begin() + static_cast<std::ptrdiff_t>(slab.offset));
  });
  return values;
}

namespace {

/// The magnitude's bits, which are in its order; 0 where it is not finite.
std::uint32_t finite_magnitude(float value) { return bits_of(finite_magnitude_of(value)); }

/// As ranges_of_scales() has them, several values at once.
std::vector<float> absmax_of_channels(const AxisGeometry& g, std::span<const float> values) {
  const auto channels = static_cast<std::size_t>(g.channels), inner = static_cast<std::size_t>(g.inner);
  std::vector<std::uint32_t> most(channels, 0);
  if (inner == 1) {
    for (std::size_t first = 0; first + channels <= values.size(); first += channels) {
      const float* const row = values.data() + first;
      for (std::size_t c = 0; c < channels; ++c) most[c] = std::max(most[c], finite_magnitude(row[c]));
    }
  } else {
    for (std::size_t row = 0; row * inner < values.size(); ++row) {
      std::uint32_t& of_row = most[row % channels];
      for (const float value : values.subspan(row * inner, inner)) of_row = std::max(of_row, finite_magnitude(value));
    }
  }
  std::vector<float> absmax;
  for (const std::uint32_t bits : most) absmax.push_back(std::bit_cast<float>(bits));
  return absmax;
}

}  // namespace

std::vector<RangeStats> ranges_of_scales(const QuantParams& params, const Shape& shape, std::span<const float> values) {
  const auto widen = [](RangeStats& range, float value) {
    if (!std::isfinite(value)) return;
    range.min = std::min(range.min, value);
    range.max = std::max(range.max, value);
  };
  if (params.block == 0) {
    const AxisGeometry g = geometry_along(shape, params.axis);
    std::vector<RangeStats> ranges(static_cast<std::size_t>(g.channels));
    const auto inner = static_cast<std::size_t>(g.inner);
    for (std::size_t row = 0; row * inner < values.size(); ++row) {
      RangeStats& of_row = ranges[row % ranges.size()];
      for (const float value : values.subspan(row * inner, inner)) widen(of_row, value);
    }
    return ranges;
  }
  std::vector<RangeStats> ranges(static_cast<std::size_t>(element_count(scale_shape(params, shape))));
  for_each_slab(params, shape, [&](const Slab& slab) {
    const float* value = values.data() + slab.offset;
    for (std::size_t row = 0; row < slab.rows; ++row) {
      for (std::size_t i = 0; i < slab.inner; ++i) widen(ranges[slab.first_scale + i], *value++);
    }
  });
  return ranges;
}

std::vector<float> absmax_of_scales(const QuantParams& params, const Shape& shape, std::span<const float> values) {
  if (params.block == 0) return absmax_of_channels(geometry_along(shape, params.axis), values);
  std::vector<float> absmax;
  for (const RangeStats& range : ranges_of_scales(params, shape, values)) absmax.push_back(range.absmax());
  return absmax;
}

}  // namespace vernier
