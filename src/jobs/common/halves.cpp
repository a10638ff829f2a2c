#include "jobs/common/halves.h"

#include <algorithm>
#include <numeric>
#include <random>
#include <utility>

namespace vernier {

Halves halves_by_lot(std::size_t samples) {
  std::vector<std::size_t> all(samples);
  std::iota(all.begin(), all.end(), std::size_t{0});
  // Not std::shuffle: its draws differ between standard libraries.
  std::mt19937_64 random(1);
  for (std::size_t i = samples; i > 1; --i) std::swap(all[i - 1], all[random() % i]);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(samples / 2);
  Halves halves{std::vector(all.begin(), middle), std::vector(middle, all.end())};
  for (std::vector<std::size_t>& half : halves) std::ranges::sort(half);
  return halves;
}

}  // namespace vernier
