#include "numerics/channel_means.h"

#include <algorithm>
#include <cstddef>

namespace vernier {

std::vector<double> shrunk(const ChannelMeans& means) {
  std::vector<double> drawn = means.mean;
  if (means.variance.size() != drawn.size()) return drawn;
  double spread = 0;
  for (std::size_t c = 0; c < drawn.size(); ++c) spread += drawn[c] * drawn[c] - means.variance[c];
  spread = std::max(0.0, spread / static_cast<double>(std::max<std::size_t>(drawn.size(), 1)));
  for (std::size_t c = 0; c < drawn.size(); ++c) {
    if (means.variance[c] > 0) drawn[c] *= spread / (spread + means.variance[c]);
  }
  return drawn;
}

}  // namespace vernier
