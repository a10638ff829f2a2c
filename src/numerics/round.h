// Rounding float32 values to the grid of a low-precision format, in float32: what Cast to the format and back, or
// QuantizeLinear and DequantizeLinear, leave behind. This is the one home of what a format *means*; the simulated and
// the typed lowering both rest on it. SIMD with run-time dispatch; every target gives the same bits as the scalar code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "vernier/format.h"

namespace vernier {

/// How a tensor is laid on a format's grid.
struct QuantParams {
  Format format = Format::Float32;
  /// Step sizes, all > 0 and finite. One: per tensor. More: one per index of `axis`. Empty for formats without a scale.
  std::vector<float> scale;
  /// Zero points, one for each scale, or empty for all zero. Within code_range() of grid.h; 0 for floats.
  std::vector<std::int32_t> zero_point;
  /// Dimension that the scales run along; -1 when there is one scale.
  int axis = -1;
  /// Above 0: that many neighbours along `axis` share a scale, the last block may be shorter, and `scale` holds a value
  /// for each block in the order of a tensor of shape scale_shape(). Whole constants only: see tensor_grid.h.
  int block = 0;
  /// Formats whose block scales are stored with a scale of the tensor (nvfp4): that one, which `scale` has in it; else
  /// 0.
  float tensor_scale = 0;
  /// The scales are those of the values that are rounded, found anew each time (fixed_params in tensor_grid.h), in
  /// blocks along the last dimension or for the tensor. `scale` holds the tensor's scale of nvfp4, else 1.
  bool dynamic = false;
  /// Integer formats only: smallest code allowed, so that symmetric int8 weights use [-127,127]. 0: the format's own.
  std::int32_t lowest_code = 0;

  bool operator==(const QuantParams&) const = default;
};

/// What happened to the values of one tensor while rounding. Each line is counted by itself: a negative value that
/// uint8 with zero point 0 clips to zero is both saturated and flushed. Infinities on entry are no event.
struct RoundEvents {
  std::int64_t count = 0;       // values seen
  std::int64_t saturated = 0;   // finite, beyond the last code of an integer or float8 grid, clipped to it
  std::int64_t overflowed = 0;  // finite in float32, infinite afterwards (float16, bfloat16)
  std::int64_t subnormal = 0;   // not zero, ended on a subnormal of the format (fewer significant bits)
  std::int64_t flushed = 0;     // not zero in float32, zero afterwards
  std::int64_t nan = 0;         // NaN on entry

  RoundEvents& operator+=(const RoundEvents& other);
  bool operator==(const RoundEvents&) const = default;
};

/// Rounds each value of `values` to the grid of `params`, in place or into `out`.
///
///   float16, bfloat16:  nearest, ties to even, subnormals kept, overflow to infinity (IEEE 754 conversion)
///   float8, float4:     y = s * sat(rne(x / s)): nearest even, subnormals kept, saturating to +-448 / +-57344 / +-6
///   integers:           y = s * (clamp(rne(x / s) + z, low, high) - z), division (not a product with 1/s), as
///                       ONNX QuantizeLinear (opset 13+) and DequantizeLinear compute it
///
/// Shapes: values [n], out [n] (same span or disjoint). Per axis: the tensor is read as [outer, channels, inner].
/// Edges:  NaN stays NaN in the float formats, as the quiet NaN of its sign without its payload. Integer formats map
///         NaN to the zero point's value 0 (ONNX leaves it open; ONNX Runtime on x86 makes it the lowest code).
///         Infinities saturate in scaled formats and stay infinite in float16 and bfloat16. -0 keeps its sign in the
///         float formats. float32: a copy.
/// Errors: Internal when sizes do not match, a scale is missing, not finite, not positive or not wanted, or a zero
///         point or the lowest code is none of the format's codes.
/// Cost:   one pass, no allocation.
/// Source: IEEE 754-2019 section 5.4.2; OCP 8-bit Floating Point Specification 1.0; ONNX QuantizeLinear-21.
void round_to(const QuantParams& params, std::span<const float> values, std::span<float> out);
void round_to(const QuantParams& params, std::int64_t channels, std::int64_t inner, std::span<const float> values,
              std::span<float> out);

/// The same, and counts what happened. Slower: counting is a second look at every value.
void round_to_counting(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                       std::span<const float> values, std::span<float> out, RoundEvents& events);

/// Codes instead of values, for writing typed models: float16/bfloat16 bit patterns (2 bytes each, little endian),
/// float8 and float4 bit patterns, integer codes; codes of 4 bits in one byte each: packing is the writer's job.
///
/// Shapes: values [n], read as [outer, channels, inner] per axis; the result has n codes.
/// Errors: as round_to. Cost: one pass.
std::vector<std::byte> encode(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                              std::span<const float> values);

/// Values of codes: the inverse of encode, exact. Infinities of float8e5m2, which encode never writes, stay infinite.
/// Errors: as round_to, and Internal when there are no whole codes. Cost: one pass.
std::vector<float> decode(const QuantParams& params, std::int64_t channels, std::int64_t inner,
                          std::span<const std::byte> codes);

/// Positive, finite and no subnormal float32, which hardware may flush to zero and then divide by.
bool is_usable_scale(float scale);

/// Symmetric scales from the absolute maximum along `axis` (-1: of all):  s = absmax / largest code of the format
/// (127 for int8, 7 for int4, 448 and 57344 for float8); a range of zeros, or of values too small for a normal
/// float32 scale, gets s = 1 / largest so that zeros stay exact. lowest_code becomes -127 / -7 for int8 / int4.
/// Formats without a scale come back without one. Errors: Internal for uint8, for a maximum that is negative or not
/// finite, and for more or less than one maximum when axis is -1. For formats with block scales: tensor_grid.h.
QuantParams symmetric_params(Format format, std::span<const float> absmax, int axis);

/// Asymmetric scale and zero point of an unsigned format that hold [min(lo,0), max(hi,0)], zero exact:
///   s = (hi - lo) / h, z = clamp(rne(-lo / s), 0, h), with h = 255, or 65535 for uint16 and 15 for uint4.
/// A range too small for a normal float32 scale gets s = 1 / h. Errors: Internal when not finite or lo > hi.
QuantParams asymmetric_params(float lo, float hi, Format format = Format::UInt8);

/// Smallest and largest value on the grid of a scaled format under its scale `index`: s * (lowest code - z) and
/// s * (highest code - z), or s times the finite ends of float8. Errors: Internal without such a scale.
struct GridEnds {
  double low = 0;
  double high = 0;
};
GridEnds grid_ends(const QuantParams& params, std::size_t index = 0);

/// Names of the instruction sets this machine can run ("AVX3", "AVX2", "SSE4", "EMU128"/scalar ...), best first, and a
/// switch for tests: limits dispatch to one of them, or back to all with an empty name. Errors: Internal for other
/// names.
std::vector<std::string_view> dispatch_targets();
void limit_dispatch(std::string_view target);

}  // namespace vernier
