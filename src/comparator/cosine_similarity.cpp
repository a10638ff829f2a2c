#include <algorithm>
#include <cmath>

#include "comparator/functions.h"

namespace vernier {

Figure cosine_similarity(Pair& pair) {
  const ErrorStats& sums = pair.sums();
  if (sums.got_energy == 0 && sums.ref_energy == 0) return {1, ""};
  if (sums.got_energy == 0 || sums.ref_energy == 0) return {0, ""};
  // Two roots, because the product of the energies could overflow.
  const double cosine = sums.dot / (std::sqrt(sums.got_energy) * std::sqrt(sums.ref_energy));
  return {std::clamp(cosine, -1.0, 1.0), ""};
}

}  // namespace vernier
