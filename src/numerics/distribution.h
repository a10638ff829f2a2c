// The values of a tensor as ranges are chosen from them: bins without what must not count. Values that are not finite
// are absent from the start; masks are taken out by take_mask.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "numerics/histogram.h"
#include "vernier/calibration.h"
#include "vernier/format.h"

namespace vernier {

struct Distribution {
  std::vector<Bin> bins;  // in the order of values, none empty, none beyond the exact ends
  float min = 0;          // exact, or the edge of a bin once a mask was taken out; 0 when there are no values
  float max = 0;
  std::int64_t count = 0;
  bool empty() const noexcept { return count == 0; }
  float absmax() const noexcept;
};

Distribution distribution_of(const ValueHistogram& histogram);

/// As callers see them.
SeenValues seen_values(std::string tensor, Format format, const Distribution& values);

/// The same values without their signs.
Distribution magnitudes(const Distribution& values);

/// Values that stand for "never" and are no data: what masks add to logits, or put in the place of a value.
struct Mask {
  float low = 0;  // ends of the bins that hold them
  float high = 0;
  std::int64_t count = 0;
  float ordinary = 0;  // largest magnitude of the values that are left
};

/// Takes values of a mask out of `values`. Values are a mask when they lie within a factor of 4 of each other, are more
/// than 64 times as large as all others, and each is either at least 1e6 in magnitude or within 1 % of one of the
/// constants that networks use, -1e4, -5e4, -65504 (the lowest float16) and -1e5, or of twice that, where two masks
/// met. Masks of both signs are taken one after the other and reported as one. A tensor of zeros and a mask alone keeps
/// it: both are exact on any grid that reaches so far, and clipped to nothing it would mask nothing. Activations that
/// are large and real (in language models up to 2e4) fail one of these, and stay.
///
/// `known`: magnitudes of constants that the graph may use as masks. Of values around these, 8 times as large as all
/// others is enough, and they may differ from the constant by 1 % and what the others reach. `only_known`: no other
/// values are a mask.
std::optional<Mask> take_mask(Distribution& values, std::span<const float> known = {}, bool only_known = false);

/// Tensors whose values are all smaller hold no mask.
inline constexpr float kNoMask = 9900;

/// Counts in `n` bins of equal width over [low, high]; a bin of `values` is spread evenly over those that it meets.
/// Values outside are left out. Edges: high > low, n >= 1.
std::vector<double> linear_bins(const Distribution& values, float low, float high, std::size_t n);

/// Share of the values that lie beyond [low, high]; a bin that an end cuts counts by the part beyond it.
double share_beyond(const Distribution& values, float low, float high);

}  // namespace vernier
