#pragma once

#include <vector>

namespace vernier {

/// The middle of `values` in order, the mean of the two middle ones where their number is even. Edge: at least one.
double median(std::vector<double> values);

}  // namespace vernier
