#include <cmath>
#include <limits>

#include "comparator/functions.h"

namespace vernier {

Figure sqnr(Pair& pair) {
  const ErrorStats& sums = pair.sums();
  if (sums.error_energy == 0) return {std::numeric_limits<double>::infinity(), ""};
  return {10 * std::log10(sums.ref_energy / sums.error_energy), ""};  // log10(0) is -inf
}

}  // namespace vernier
