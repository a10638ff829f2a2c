// Statistics, shapes and histograms of tensors as users of the peer know them.
#pragma once

#include <string>

#include "vernier/comparison.h"
#include "vernier/tensor.h"

namespace vernier {

/// "mean=0.5, std-dev=0.1, var=0.01, median=0.5, min=0 at (0, 1), max=1 at (0, 2), avg-magnitude=0.5, p90=0.9,
/// p95=0.95, p99=0.99", five significant digits. Values that are not finite are named behind it; "no elements", "no
/// finite values" where there is nothing to say. `percentiles`: false for bool.
std::string stats_to_text(const ValueStats& stats, const Shape& shape, bool percentiles = true);

/// "3 of 256 values are not finite (1 NaN, 2 inf)"; empty when all are.
std::string not_finite_text(const ValueStats& stats);

/// A heading and a line a bin: range, count, bar of at most 40 columns; each ends with a line end. Empty when nothing
/// was counted.
std::string histogram_to_text(const Histogram& histogram);

}  // namespace vernier
