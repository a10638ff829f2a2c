#include "tasks/ranks.h"

#include <cmath>

namespace vernier {

std::size_t place_of(std::span<const float> scores, std::size_t label) {
  const float own = scores[label];
  if (std::isnan(own)) return scores.size();
  std::size_t before = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] > own || (scores[i] == own && i < label) || std::isnan(scores[i])) ++before;
  }
  return before;
}

}  // namespace vernier
