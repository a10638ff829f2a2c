// Distributions for tests.
#pragma once

#include <utility>
#include <vector>

#include "numerics/distribution.h"

namespace vernier::test {

inline Distribution of_bins(std::vector<Bin> bins) {
  Distribution values;
  values.min = bins.front().low;
  values.max = bins.back().high;
  for (const Bin& bin : bins) values.count += bin.count;
  values.bins = std::move(bins);
  return values;
}

inline Distribution of_values(const std::vector<float>& values) {
  ValueHistogram histogram;
  histogram.add(values);
  return distribution_of(histogram);
}

}  // namespace vernier::test
