#include "numerics/tensor_grid.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "numerics/grid.h"
#include "vernier/error.h"

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
  if (params.block == 0) {
    const AxisGeometry g = geometry_along(shape, params.scale.size() > 1 ? params.axis : -1);
    if (events == nullptr) return round_to(params, g.channels, g.inner, values, out);
    return round_to_counting(params, g.channels, g.inner, values, out, *events);
  }
  check_fits(params, shape, values.size());
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
  if (params.block == 0) {
    const AxisGeometry g = geometry_along(shape, params.scale.size() > 1 ? params.axis : -1);
    return encode(params, g.channels, g.inner, values);
  }
  check_fits(params, shape, values.size());
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
  if (params.block == 0) {
    const AxisGeometry g = geometry_along(shape, params.scale.size() > 1 ? params.axis : -1);
    return decode(params, g.channels, g.inner, codes);
  }
  check_fits(params, shape, codes.size());
  std::vector<float> values(codes.size());
  for_each_slab(params, shape, [&](const Slab& slab) {
    const AxisGeometry g = geometry_of(slab);
    const auto part =
        decode(params_of(params, slab), g.channels, g.inner, codes.subspan(slab.offset, slab.rows * slab.inner));
    std::copy(part.begin(), part.end(), values.begin() + static_cast<std::ptrdiff_t>(slab.offset));
  });
  return values;
}

std::vector<float> absmax_of_scales(const QuantParams& params, const Shape& shape, std::span<const float> values) {
  const auto widen = [](float& absmax, float value) {
    if (std::isfinite(value)) absmax = std::max(absmax, std::abs(value));
  };
  if (params.block == 0) {
    const AxisGeometry g = geometry_along(shape, params.axis);
    std::vector<float> absmax(static_cast<std::size_t>(g.channels), 0.0F);
    const auto inner = static_cast<std::size_t>(g.inner);
    for (std::size_t row = 0; row * inner < values.size(); ++row) {
      float& of_row = absmax[row % absmax.size()];
      for (const float value : values.subspan(row * inner, inner)) widen(of_row, value);
    }
    return absmax;
  }
  std::vector<float> absmax(static_cast<std::size_t>(element_count(scale_shape(params, shape))), 0.0F);
  for_each_slab(params, shape, [&](const Slab& slab) {
    for (std::size_t i = 0; i < slab.rows * slab.inner; ++i) {
      widen(absmax[slab.first_scale + i % slab.inner], values[slab.offset + i]);
    }
  });
  return absmax;
}

}  // namespace vernier
