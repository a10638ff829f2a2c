// The constants that define each format's grid, and the one check of QuantParams that all entry points share. Values
// are laid on a grid by round_to, encode and decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "numerics/one_value.h"
#include "numerics/round.h"
#include "vernier/format.h"

namespace vernier {

/// A binary floating-point format narrower than float32, described by what rounding needs.
struct FloatGrid {
  int mantissa_bits;  // stored bits, without the leading one
  int min_exponent;   // of the smallest normal value, 2^min_exponent
  float max_finite;
  /// Finite values from here on (or strictly beyond, when `tie_stays` is set) round past max_finite.
  float limit;
  bool tie_stays;  // the tie at `limit` goes down to max_finite because that one is even
};

inline constexpr FloatGrid kFloat16{10, -14, 65504.0f, 65520.0f, false};
inline constexpr float kLargestFloat16 = kFloat16.max_finite;
inline constexpr FloatGrid kBFloat16{7, -126, 0x1.FEp127f, 0x1.FFp127f, false};
inline constexpr FloatGrid kFloat8E4M3FN{3, -6, 448.0f, 464.0f, true};
inline constexpr FloatGrid kFloat8E5M2{2, -14, 57344.0f, 61440.0f, false};

/// The grid of a narrow float format; nullptr for float32 and the integers.
const FloatGrid* float_grid(Format format);

/// Smallest and largest code of an integer format.
struct CodeRange {
  std::int32_t lowest = 0;
  std::int32_t highest = 0;
};
CodeRange code_range(Format format);
bool is_integer(Format format);

/// The grid of `params` for one_value.h.
ValueGrid value_grid(const QuantParams& params);

/// Why `scale` cannot be the quantization step of `format`, as the end of "the scale 1e-45 ...". Empty: it can.
/// It is_usable_scale(), and float32 holds every value of its grid. Scales from
/// symmetric_params and asymmetric_params are always usable. Not for biases in 32 bits, whose scale is a product.
std::string_view scale_defect(float scale, Format format);

/// How one tensor is read under `params`: [outer, channels, inner] with one scale for each channel, or one for all.
struct GridLayout {
  std::size_t outer = 1;
  std::size_t channels = 1;
  std::size_t inner = 0;
};

/// Checks the promises of QuantParams for a tensor of `size` values read as [size / (channels * inner), channels,
/// inner]. Errors: Internal, naming the numbers that clash.
GridLayout checked_layout(const QuantParams& params, std::int64_t channels, std::int64_t inner, std::size_t size);

}  // namespace vernier
