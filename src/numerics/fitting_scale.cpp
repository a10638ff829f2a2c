#include "numerics/fitting_scale.h"

#include <algorithm>

namespace vernier {

double fitting_scale(const QuantParams& params, double smallest, double largest) {
  const GridEnds ends = grid_ends(params);
  const double low = std::min(smallest, 0.0);
  const double high = std::max(largest, 0.0);
  const bool centred = ends.low < 0 && (params.zero_point.empty() || params.zero_point.front() == 0);
  const double share = centred ? std::max(low / ends.low, high / ends.high) : (high - low) / (ends.high - ends.low);
  return static_cast<double>(params.scale.front()) * share;
}

}  // namespace vernier
