#include <cmath>
#include <limits>

#include "comparator/functions.h"

namespace vernier {

Figure psnr(Pair& pair) {
  const double noise = mean_squared_error(pair).value;
  if (noise == 0) return {std::numeric_limits<double>::infinity(), ""};
  const double largest = pair.largest_got();
  return {20 * std::log10(largest > 0 ? largest : 1) - 10 * std::log10(noise), ""};
}

}  // namespace vernier
