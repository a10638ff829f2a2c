// A second, plain implementation of rounding and of error sums to test the SIMD code against: double arithmetic, one
// value at a time, nothing shared with src/.
#pragma once

#include <bit>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numerics/metrics.h"
#include "numerics/round.h"
#include "vernier/format.h"

namespace vernier::test {

inline constexpr Format kFloatFormats[] = {Format::Float16, Format::BFloat16, Format::Float8E4M3FN, Format::Float8E5M2,
                                           Format::NvFp4};
inline constexpr Format kIntegerFormats[] = {Format::Int8,  Format::UInt8, Format::Int4,
                                             Format::UInt4, Format::Int16, Format::UInt16};
inline constexpr Format kNarrowFormats[] = {Format::Float16, Format::BFloat16, Format::Float8E4M3FN, Format::Float8E5M2,
                                            Format::NvFp4,   Format::Int8,     Format::UInt8,        Format::Int4,
                                            Format::UInt4,   Format::Int16,    Format::UInt16};

/// Codes of an integer format.
struct OracleCodes {
  std::int32_t lowest, highest;
};
OracleCodes oracle_codes(Format format);

/// What a value becomes, and what happened to it.
struct Rounded {
  float value = 0;
  RoundEvents events;
};
Rounded oracle_round(Format format, float x, float scale, std::int32_t zero_point, std::int32_t lowest_code);

/// round_to of a whole tensor, element by element, with events.
std::vector<float> oracle_round(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                                std::span<const float> values, RoundEvents& events);

/// accumulate_error as metrics.h defines it: blocks of 2048 pairs, eight lanes each, the last n % 8 a block of their
/// own.
ErrorStats oracle_error(std::span<const float> ref, std::span<const float> got);

/// Per-tensor parameters; scale is left out for formats without one.
QuantParams params_of(Format format, float scale = 1.0f, std::int32_t zero_point = 0);

float round_one(const QuantParams& params, float value);

inline std::uint32_t bits_of_float(float value) { return std::bit_cast<std::uint32_t>(value); }
inline float float_of_bits(std::uint32_t bits) { return std::bit_cast<float>(bits); }
/// Equal bits; prints both values and their bits when not.
std::string difference(std::span<const float> expected, std::span<const float> got);

/// The seed of random tests: VERNIER_TEST_SEED, or a fixed one.
std::uint64_t test_seed();
/// Uniform over bit patterns: every exponent, subnormals, infinities and NaN payloads included.
std::vector<float> random_bits(std::mt19937_64& random, std::size_t n);
/// Uniform over the exponents in [lowest, highest], so that a grid is met at all its magnitudes.
std::vector<float> random_magnitudes(std::mt19937_64& random, std::size_t n, int lowest, int highest);

/// Limits dispatch for the life of the object.
class OnTarget {
 public:
  explicit OnTarget(std::string_view target) { limit_dispatch(target); }
  ~OnTarget() { limit_dispatch({}); }
  OnTarget(const OnTarget&) = delete;
  OnTarget& operator=(const OnTarget&) = delete;
};

}  // namespace vernier::test
