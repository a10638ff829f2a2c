// The grid of each format (base/format_definition.h), and the one check of QuantParams that all entry points share.
// Values are laid on a grid by round_to, encode and decode.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/format_definition.h"
#include "numerics/one_value.h"
#include "numerics/round.h"
#include "vernier/format.h"

namespace vernier {

/// The grid of a narrow float format; nullptr for float32 and the integers.
const FloatGrid* float_grid(Format format);

/// Smallest and largest code of an integer format.
CodeRange code_range(Format format);
bool is_integer(Format format);
/// An integer format whose codes start at 0: it takes asymmetric ranges.
bool is_unsigned(Format format);

/// The grid of `params` for one_value.h.
ValueGrid value_grid(const QuantParams& params);
/// How its blocks are scaled: of a format with block scales, whose tensor has `tensor_scale`.
BlockGrid block_grid(Format format, float tensor_scale);

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
