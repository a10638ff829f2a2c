#include <cmath>

#include "comparator/functions.h"

namespace vernier {

Figure l2(Pair& pair) { return {std::sqrt(pair.sums().error_energy), ""}; }

}  // namespace vernier
