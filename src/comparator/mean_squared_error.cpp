#include <cstdint>

#include "comparator/functions.h"

namespace vernier {

Figure mean_squared_error(Pair& pair) {
  const std::int64_t finite = pair.count() - pair.not_finite();
  return {finite == 0 ? 0 : pair.sums().error_energy / static_cast<double>(finite), ""};
}

}  // namespace vernier
