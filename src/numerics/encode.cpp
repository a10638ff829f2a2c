// Codes of values and values of codes. Rounding is done by the SIMD kernels; what is left here is exact.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "numerics/grid.h"
#include "numerics/round_simd.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// Exact conversion between the codes of a narrow float format and the float32 values on its grid.
class FloatCodec {
 public:
  explicit FloatCodec(const FloatGrid& grid)
      : grid_(grid),
        shift_(23 - grid.mantissa_bits),
        // Float32 counts exponents from -127, the format from min_exponent - 1.
        rebias_(static_cast<std::uint32_t>(grid.min_exponent - 1 + 127) << grid.mantissa_bits),
        min_normal_(std::ldexp(1.0f, grid.min_exponent)),
        subnormal_step_(std::ldexp(1.0f, grid.min_exponent - grid.mantissa_bits)),
        largest_((std::bit_cast<std::uint32_t>(grid.max_finite) >> shift_) - rebias_) {}

  std::uint32_t code(float value) const {
    const std::uint32_t sign = std::signbit(value) ? 1u << (grid_.bits - 1) : 0u;
    const float magnitude = std::abs(value);
    if (std::isnan(value)) return sign | grid_.nan;
    if (magnitude > grid_.max_finite)
      return sign | (largest_ + 1);  // infinity; rounding leaves it only where it exists
    if (magnitude < min_normal_) return sign | static_cast<std::uint32_t>(magnitude / subnormal_step_);
    return sign | ((std::bit_cast<std::uint32_t>(magnitude) >> shift_) - rebias_);
  }

  float value(std::uint32_t code) const {
    const std::uint32_t sign = code >> (grid_.bits - 1) << 31;
    const std::uint32_t magnitude = code & ((1u << (grid_.bits - 1)) - 1u);
    std::uint32_t bits = (magnitude + rebias_) << shift_;
    if (magnitude > largest_) {
      bits = grid_.has_infinity && magnitude == largest_ + 1 ? 0x7F800000u : 0x7FC00000u;
    } else if (magnitude >> grid_.mantissa_bits == 0) {
      bits = std::bit_cast<std::uint32_t>(static_cast<float>(magnitude) * subnormal_step_);
    }
    return std::bit_cast<float>(sign | bits);
  }

 private:
  FloatGrid grid_;
  int shift_;
  std::uint32_t rebias_;
  float min_normal_;
  float subnormal_step_;
  std::uint32_t largest_;
};

std::size_t bytes_of_code(Format format) { return (static_cast<std::size_t>(bits_of(format)) + 7) / 8; }

/// Calls visit(element, channel) for every element in order.
template <class Visit>
void for_each_element(const GridLayout& layout, const Visit& visit) {
  std::size_t i = 0;
  for (std::size_t o = 0; o < layout.outer; ++o) {
    for (std::size_t c = 0; c < layout.channels; ++c) {
      for (std::size_t k = 0; k < layout.inner; ++k) visit(i++, c);
    }
  }
}

std::int32_t zero_point_of(const QuantParams& params, std::size_t channel) {
  return params.zero_point.empty() ? 0 : params.zero_point[channel];
}

void write_codes(const QuantParams& params, const GridLayout& layout, std::span<const float> steps,
                 std::span<std::byte> codes) {
  const FloatGrid* grid = float_grid(params.format);
  if (!grid) {
    for_each_element(layout, [&](std::size_t i, std::size_t channel) {
      codes[i] = static_cast<std::byte>(static_cast<std::int32_t>(steps[i]) + zero_point_of(params, channel));
    });
    return;
  }
  const FloatCodec codec(*grid);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const std::uint32_t code = codec.code(steps[i]);
    if (grid->bits == 8) {
      codes[i] = static_cast<std::byte>(code);
    } else {
      codes[2 * i] = static_cast<std::byte>(code & 0xFFu);
      codes[2 * i + 1] = static_cast<std::byte>(code >> 8);
    }
  }
}

void read_codes(const QuantParams& params, const GridLayout& layout, std::span<const std::byte> codes,
                std::span<float> values) {
  const FloatGrid* grid = float_grid(params.format);
  if (!grid) {
    const bool is_signed = params.format != Format::UInt8;
    for_each_element(layout, [&](std::size_t i, std::size_t channel) {
      const auto raw = std::to_integer<std::uint8_t>(codes[i]);
      const std::int32_t code = is_signed ? static_cast<std::int8_t>(raw) : raw;
      values[i] = static_cast<float>(code - zero_point_of(params, channel)) * params.scale[channel];
    });
    return;
  }
  const FloatCodec codec(*grid);
  if (grid->bits == 8) {
    for_each_element(layout, [&](std::size_t i, std::size_t channel) {
      values[i] = codec.value(std::to_integer<std::uint32_t>(codes[i])) * params.scale[channel];
    });
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = codec.value(std::to_integer<std::uint32_t>(codes[2 * i]) |
                            std::to_integer<std::uint32_t>(codes[2 * i + 1]) << 8);
  }
}

}  // namespace

std::vector<std::byte> encode(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                              std::span<const float> values) {
  const GridLayout layout = checked_layout(params, channels, inner, values.size());
  std::vector<std::byte> codes(values.size() * bytes_of_code(params.format));
  if (values.empty()) return codes;
  if (params.format == Format::Float32) {
    std::memcpy(codes.data(), values.data(), codes.size());
    return codes;
  }
  std::vector<float> steps(values.size());
  RoundEvents ignored;
  run_round_job(make_job(params, layout, values, steps), RoundOutput::Steps, ignored);
  write_codes(params, layout, steps, codes);
  return codes;
}

std::vector<float> decode(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                          std::span<const std::byte> codes) {
  const std::size_t width = bytes_of_code(params.format);
  if (codes.size() % width != 0) {
    throw Error(ErrorKind::Internal,
                fmt::format("{} bytes do not hold {} codes", codes.size(), format_name(params.format)));
  }
  std::vector<float> values(codes.size() / width);
  const GridLayout layout = checked_layout(params, channels, inner, values.size());
  if (values.empty()) return values;
  if (params.format == Format::Float32) {
    std::memcpy(values.data(), codes.data(), codes.size());
  } else {
    read_codes(params, layout, codes, values);
  }
  return values;
}

}  // namespace vernier
