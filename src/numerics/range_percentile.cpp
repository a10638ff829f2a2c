#include <algorithm>
#include <vector>

#include "numerics/grid.h"
#include "numerics/range_methods.h"
#include "vernier/format.h"

namespace vernier {
namespace {

/// The value that `wanted` of the values do not exceed.
float value_at(const std::vector<Bin>& bins, double wanted) {
  double below = 0;
  for (const Bin& bin : bins) {
    const auto count = static_cast<double>(bin.count);
    if (below + count >= wanted) {
      const double part = std::clamp((wanted - below) / count, 0.0, 1.0);
      return static_cast<float>(bin.low + part * (static_cast<double>(bin.high) - bin.low));
    }
    below += count;
  }
  return bins.empty() ? 0 : bins.back().high;
}

}  // namespace

ValueRange percentile_range(const Distribution& values, Format format, double percent) {
  const auto count = static_cast<double>(values.count);
  // Less than one value left out is none.
  const auto inside = [&](double left_out) { return left_out < 1 ? count : count - left_out; };
  if (!is_unsigned(format)) {
    const float bound = value_at(magnitudes(values).bins, inside(count * (1 - percent / 100)));
    return {std::max(values.min, -bound), std::min(values.max, bound)};
  }
  const double left_out = count * (1 - percent / 100) / 2;
  if (left_out < 1) return minmax_range(values);
  return {value_at(values.bins, left_out), value_at(values.bins, inside(left_out))};
}

}  // namespace vernier
