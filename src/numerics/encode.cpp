// Codes of values and values of codes. Rounding is done by the SIMD kernels; what is left here is exact.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/float_codes.h"
#include "numerics/grid.h"
#include "numerics/round_simd.h"
#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier {
namespace {

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

/// The code of a value that lies on the grid of a float format.
std::uint32_t float_code(Format format, float value) {
  switch (format) {
    case Format::Float16:
      return float16_bits(static_cast<double>(value));
    case Format::BFloat16:
      return bfloat16_bits(value);
    case Format::Float8E4M3FN:
    case Format::MxFp8:
      return float8e4m3fn_bits(value);
    case Format::NvFp4:
    case Format::MxFp4:
      return float4e2m1_bits(value);
    default:
      return float8e5m2_bits(value);
  }
}

float float_value(Format format, std::uint32_t code) {
  switch (format) {
    case Format::Float16:
      return float16_value(static_cast<std::uint16_t>(code));
    case Format::BFloat16:
      return bfloat16_value(static_cast<std::uint16_t>(code));
    case Format::Float8E4M3FN:
    case Format::MxFp8:
      return float8e4m3fn_value(static_cast<std::uint8_t>(code));
    case Format::NvFp4:
    case Format::MxFp4:
      return float4e2m1_value(static_cast<std::uint8_t>(code));
    default:
      return float8e5m2_value(static_cast<std::uint8_t>(code));
  }
}

void write_code(std::span<std::byte> codes, std::size_t place, std::size_t width, std::uint32_t code) {
  for (std::size_t b = 0; b < width; ++b) codes[width * place + b] = static_cast<std::byte>(code >> (8 * b) & 0xFFU);
}

/// One loop over each channel, which compilers vectorize.
void write_bytes(const QuantParams& params, const GridLayout& layout, std::span<const float> steps,
                 std::span<std::byte> codes) {
  std::size_t first = 0;
  for (std::size_t row = 0; row < layout.outer * layout.channels; ++row, first += layout.inner) {
    const std::int32_t zero = zero_point_of(params, row % layout.channels);
    for (std::size_t i = first; i < first + layout.inner; ++i) {
      codes[i] = static_cast<std::byte>(static_cast<std::int32_t>(steps[i]) + zero);
    }
  }
}

void write_codes(const QuantParams& params, const GridLayout& layout, std::span<const float> steps,
                 std::span<std::byte> codes) {
  const std::size_t width = bytes_of_code(params.format);
  if (is_integer(params.format) && width == 1) return write_bytes(params, layout, steps, codes);
  if (is_integer(params.format)) {
    for_each_element(layout, [&](std::size_t i, std::size_t channel) {
      const std::int32_t code = static_cast<std::int32_t>(steps[i]) + zero_point_of(params, channel);
      write_code(codes, i, width, static_cast<std::uint32_t>(code));
    });
    return;
  }
  for (std::size_t i = 0; i < steps.size(); ++i) write_code(codes, i, width, float_code(params.format, steps[i]));
}

std::int32_t integer_code(std::span<const std::byte> codes, std::size_t place, std::size_t width, bool is_signed) {
  std::uint32_t raw = 0;
  for (std::size_t b = 0; b < width; ++b) raw |= std::to_integer<std::uint32_t>(codes[width * place + b]) << (8 * b);
  if (!is_signed) return static_cast<std::int32_t>(raw);
  return width == 1 ? static_cast<std::int8_t>(raw) : static_cast<std::int16_t>(raw);
}

void read_codes(const QuantParams& params, const GridLayout& layout, std::span<const std::byte> codes,
                std::span<float> values) {
  if (is_integer(params.format)) {
    const std::size_t width = bytes_of_code(params.format);
    const bool is_signed = code_range(params.format).lowest < 0;
    for_each_element(layout, [&](std::size_t i, std::size_t channel) {
      const std::int32_t code = integer_code(codes, i, width, is_signed);
      values[i] = static_cast<float>(code - zero_point_of(params, channel)) * params.scale[channel];
    });
    return;
  }
  if (needs_scale(params.format)) {
    for_each_element(layout, [&](std::size_t i, std::size_t channel) {
      values[i] = float_value(params.format, std::to_integer<std::uint32_t>(codes[i])) * params.scale[channel];
    });
    return;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = float_value(params.format, std::to_integer<std::uint32_t>(codes[2 * i]) |
                                               std::to_integer<std::uint32_t>(codes[2 * i + 1]) << 8U);
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
                fmt::format("{} bytes do not hold {} quantized values", codes.size(), format_name(params.format)));
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
