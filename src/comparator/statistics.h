// Statistics and histograms of one tensor, as NumPy defines them. Values that are not finite are counted and left out.
#pragma once

#include <optional>
#include <utility>

#include "vernier/comparison.h"
#include "vernier/tensor.h"

namespace vernier {

/// Mean, population standard deviation and variance, median and percentiles (numpy.quantile, "linear"), average
/// magnitude, smallest and largest value with the flat index of the first one.
///
/// Types:  every numeric type and bool (false 0, true 1); sums are double.
/// Edges:  no elements: all zero; none of them finite: every figure is NaN, and the counts say why.
/// Errors: Input for strings, and for 2^32 elements or more.
/// Cost:   two passes for types that float32 holds, four for the others; a few megabytes for any size.
ValueStats stats_of(const Tensor& tensor);

/// The histogram has ten bins of equal width from the smallest to the largest finite value, as numpy.histogram: each
/// bin holds its lower edge, the last one both; a single value is put in the middle of [v - 0.5, v + 0.5]. None where
/// no value is finite.
struct Summary {
  ValueStats stats;
  std::optional<Histogram> histogram;
};
/// Both at the price of one.
Summary summary_of(const Tensor& tensor);

/// Of two tensors, with histograms over the range of both when `histograms` are wanted.
std::pair<Summary, Summary> summaries_of(const Tensor& one, const Tensor& other, bool histograms);

}  // namespace vernier
