#include "oracle.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "vernier/format.h"

namespace vernier::test {
namespace {

struct FloatRow {
  int mantissa_bits;
  int min_exponent;
  double max_finite;
  bool saturates;
  bool scaled;
};

FloatRow float_row(Format format) {
  switch (format) {
    case Format::Float16:
      return {10, -14, 65504.0, false, false};
    case Format::BFloat16:
      return {7, -126, std::ldexp(255.0, 120), false, false};
    case Format::Float8E4M3FN:
      return {3, -6, 448.0, true, true};
    case Format::NvFp4:
      return {1, 0, 6.0, true, true};
    default:
      return {2, -14, 57344.0, true, true};
  }
}

bool is_float_format(Format format) {
  return std::find(std::begin(kFloatFormats), std::end(kFloatFormats), format) != std::end(kFloatFormats);
}

Rounded round_float(Format format, float x, float scale) {
  const FloatRow row = float_row(format);
  Rounded result;
  if (std::isnan(x)) {
    result.events.nan = 1;
    result.value = float_of_bits(0x7FC00000u | (bits_of_float(x) & 0x80000000u));
    return result;
  }
  const float v = row.scaled ? x / scale : x;
  const double magnitude = std::abs(static_cast<double>(v));
  double q = magnitude;
  if (std::isfinite(magnitude) && magnitude != 0) {
    const double step = std::ldexp(1.0, std::max(std::ilogb(magnitude), row.min_exponent) - row.mantissa_bits);
    q = std::nearbyint(magnitude / step) * step;
  }
  if (q > row.max_finite) {
    q = row.saturates ? row.max_finite : std::numeric_limits<double>::infinity();
    (row.saturates ? result.events.saturated : result.events.overflowed) = std::isfinite(x) ? 1 : 0;
  }
  result.value = std::copysign(static_cast<float>(q), v);
  if (row.scaled) result.value *= scale;
  result.events.subnormal = q > 0 && q < std::ldexp(1.0, row.min_exponent);
  result.events.flushed = x != 0 && result.value == 0;
  return result;
}

Rounded round_integer(Format format, float x, float scale, std::int32_t zero_point, std::int32_t lowest_code) {
  auto [low, high] = oracle_codes(format);
  if (lowest_code != 0) low = lowest_code;
  Rounded result;
  if (std::isnan(x)) {
    result.events.nan = 1;
    return result;
  }
  const double wide = std::nearbyint(static_cast<double>(x / scale)) + zero_point;
  const double code = std::clamp(wide, static_cast<double>(low), static_cast<double>(high));
  result.events.saturated = code != wide && std::isfinite(x);
  result.value = static_cast<float>(static_cast<int>(code) - zero_point) * scale;
  result.events.flushed = x != 0 && result.value == 0;
  return result;
}

ErrorStats oracle_block(std::span<const float> ref, std::span<const float> got) {
  double lanes[5][8] = {};
  ErrorStats stats;
  for (std::size_t i = 0; i < ref.size(); ++i) {
    ++stats.count;
    const bool ref_finite = std::isfinite(ref[i]);
    stats.ref_nonfinite += !ref_finite;
    stats.got_nan += ref_finite && std::isnan(got[i]);
    stats.got_inf += ref_finite && std::isinf(got[i]);
    if (!ref_finite || !std::isfinite(got[i])) continue;
    const double r = ref[i];
    const double g = got[i];
    const double terms[5] = {r * r, g * g, r * g, (g - r) * (g - r), g - r};
    for (int k = 0; k < 5; ++k) lanes[k][i % 8] += terms[k];
    stats.max_abs_error = std::max(stats.max_abs_error, std::abs(g - r));
    stats.max_abs_ref = std::max(stats.max_abs_ref, std::abs(r));
  }
  double* const sums[5] = {&stats.ref_energy, &stats.got_energy, &stats.dot, &stats.error_energy, &stats.error_sum};
  for (int k = 0; k < 5; ++k) {
    const double(&v)[8] = lanes[k];
    *sums[k] = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
  }
  return stats;
}

}  // namespace

OracleCodes oracle_codes(Format format) {
  const bool is_signed = format == Format::Int8 || format == Format::Int4 || format == Format::Int16;
  const std::int32_t count = 1 << bits_of(format);
  return is_signed ? OracleCodes{-count / 2, count / 2 - 1} : OracleCodes{0, count - 1};
}

Rounded oracle_round(Format format, float x, float scale, std::int32_t zero_point, std::int32_t lowest_code) {
  Rounded result = is_float_format(format) ? round_float(format, x, scale)
                                           : round_integer(format, x, scale, zero_point, lowest_code);
  result.events.count = 1;
  return result;
}

std::vector<float> oracle_round(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                                std::span<const float> values, RoundEvents& events) {
  std::vector<float> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::size_t channel = 0;
    if (params.scale.size() > 1) channel = i / static_cast<std::size_t>(inner) % static_cast<std::size_t>(channels);
    const Rounded rounded =
        oracle_round(params.format, values[i], params.scale.empty() ? 1.0f : params.scale[channel],
                     params.zero_point.empty() ? 0 : params.zero_point[channel], params.lowest_code);
    out.push_back(rounded.value);
    events += rounded.events;
  }
  return out;
}

ErrorStats oracle_error(std::span<const float> ref, std::span<const float> got) {
  ErrorStats stats;
  const std::size_t whole = ref.size() / 8 * 8;
  for (std::size_t i = 0; i < whole; i += 2048) {
    const std::size_t n = std::min<std::size_t>(2048, whole - i);
    stats += oracle_block(ref.subspan(i, n), got.subspan(i, n));
  }
  if (whole < ref.size()) stats += oracle_block(ref.subspan(whole), got.subspan(whole));
  return stats;
}

QuantParams params_of(Format format, float scale, std::int32_t zero_point) {
  QuantParams params;
  params.format = format;
  if (needs_scale(format)) params.scale = {scale};
  if (zero_point != 0) params.zero_point = {zero_point};
  return params;
}

float round_one(const QuantParams& params, float value) {
  float out = 0;
  round_to(params, {&value, 1}, {&out, 1});
  return out;
}

std::string difference(std::span<const float> expected, std::span<const float> got) {
  if (expected.size() != got.size()) return fmt::format("{} values instead of {}", got.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (bits_of_float(expected[i]) == bits_of_float(got[i])) continue;
    return fmt::format("element {} of {}: expected {} ({:08x}), got {} ({:08x})", i, expected.size(), expected[i],
                       bits_of_float(expected[i]), got[i], bits_of_float(got[i]));
  }
  return {};
}

std::uint64_t test_seed() {
  const char* text = std::getenv("VERNIER_TEST_SEED");
  return text ? std::strtoull(text, nullptr, 10) : 20240917;
}

std::vector<float> random_bits(std::mt19937_64& random, std::size_t n) {
  std::vector<float> values(n);
  for (float& value : values) value = float_of_bits(static_cast<std::uint32_t>(random()));
  return values;
}

std::vector<float> random_magnitudes(std::mt19937_64& random, std::size_t n, int lowest, int highest) {
  std::uniform_int_distribution<int> exponent(lowest, highest);
  std::uniform_real_distribution<float> mantissa(1.0f, 2.0f);
  std::vector<float> values(n);
  for (float& value : values) {
    value = std::ldexp(mantissa(random), exponent(random));
    if (random() & 1) value = -value;
  }
  return values;
}

}  // namespace vernier::test
