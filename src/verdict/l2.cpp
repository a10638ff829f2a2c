#include <cmath>

#include "verdict/functions.h"

namespace vernier {

Figure l2(Pair& pair) { return {std::sqrt(pair.sums().error_energy), ""}; }

}  // namespace vernier
