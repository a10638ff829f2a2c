// From the values of a tensor to the range that its grid covers: one function for each method, one file each. All are
// pure, exact on the same counts everywhere, and give a range within the values that were seen.
//
// Grids: uint8 is asymmetric, with 256 levels over [low, high] and zero exact; every other scaled format is symmetric,
// and its range [-a, a] (low = -high) or, where only magnitudes matter to the method, the part of it that holds values.
// Edges of all: no values, or only zeros: [0, 0]. Constant values: their own range. Masks and values that are not
// finite are no part of a Distribution.
#pragma once

#include "numerics/distribution.h"
#include "numerics/round.h"
#include "vernier/calibration.h"
#include "vernier/format.h"

namespace vernier {

struct ValueRange {
  float low = 0;
  float high = 0;
  bool operator==(const ValueRange&) const = default;
};

/// The grid of an activation over a range: asymmetric for uint8; else symmetric to the larger magnitude, every code
/// used, as QuantizeLinear does.
QuantParams activation_params(Format format, ValueRange range);

/// Smallest and largest value.
ValueRange minmax_range(const Distribution& values);

/// The range that holds `percent` of the values: of their magnitudes for symmetric grids; for uint8 (100 - percent) / 2
/// are left out at each end. Linear within a bin, whose ends are 0.2 % apart. With fewer values than 100 / (100 -
/// percent) it ends at the last one. Cost: one pass over the bins.
ValueRange percentile_range(const Distribution& values, Format format, double percent);

/// The range whose distribution, merged to the levels of the grid, is nearest to that of all values.
///
///   2048 bins of equal width; for each window [0, i) (uint8 with values of both signs: both ends moved in proportion)
///   P = the window's counts, what lies beyond added to its end bins; Q = the window's counts merged into L equal
///   groups, each spread over its bins that hold anything;   choose i that minimises  sum p log(p / q)
///
/// L: 128 for int8 (magnitudes), 256 for uint8, 8 for int4. Zeros pile up behind a Relu and are exact on any grid:
/// their bin counts as its neighbour does. ONNX Runtime's default is 128 bins for 128 levels, where no window but the
/// whole can be chosen, so that its entropy method is its minimum and maximum; hence 2048, as TensorRT. Errors: Usage
/// for the float8 formats, whose levels are not equally wide. Cost: 2048 windows of L sums each, some milliseconds.
/// Source: S. Migacz, "8-bit Inference with TensorRT", GTC 2017.
ValueRange entropy_range(const Distribution& values, Format format);

/// The range with the least squared error of rounding, sum count (x - Q(x))^2, where Q is the format's own rounding.
/// Searched from the whole range down to 1/1024 of it, eight steps an octave, then by golden section; for uint8 the two
/// ends one after the other as well. Not worse than the whole range, ever. Cost: some 150 roundings of the bins.
ValueRange mse_range(const Distribution& values, Format format);

/// Squared error of rounding `values` to the grid of `params`, summed.
double rounding_noise(const Distribution& values, const QuantParams& params);

/// The optimal clipping point of a Gaussian or Laplace distribution with the moments of `values`, whichever of the two
/// rounds the values with less error.
///
///   Laplace   a = b W(3 * 4^M)          b = mean |x - m|, W the Lambert function;   M = 8: 9.89 b, M = 4: 5.03 b
///   Gauss     root of  a erfc(a / (s sqrt 2)) - s sqrt(2 / pi) exp(-a^2 / 2s^2) + a / (3 * 4^M)
///                                       s = standard deviation;                     M = 8: 3.92 s, M = 4: 2.56 s
///
/// m = 0 for symmetric grids; for uint8 the range is [m - a, m + a]. Values of one sign are half of a symmetric
/// distribution: moments of the values that are not zero about zero, and for uint8 one more bit, since all levels lie
/// on one side. Errors: Usage for the float8 formats. Source: R. Banner et al., "Post training 4-bit quantization of
/// convolutional networks", NeurIPS 2019.
ValueRange aciq_range(const Distribution& values, Format format);

/// True unless the method counts equal levels, as entropy and aciq do, and the format (float8) has none.
bool has_levels_for(const CalibrationChoice& choice, Format format);
/// Errors: Usage when it has none, saying what to use instead.
void require_levels_for(const CalibrationChoice& choice, Format format);

/// The range by a method other than Automatic and Own. Errors: as require_levels_for.
ValueRange range_by(const CalibrationChoice& choice, const Distribution& values, Format format);

}  // namespace vernier
