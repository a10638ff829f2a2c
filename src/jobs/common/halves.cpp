#include "jobs/common/halves.h"

#include <random>
#include <set>
#include <utility>

namespace vernier {

Halves halves_by_lot(const std::vector<std::size_t>& first_alike) {
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < first_alike.size(); ++i) {
    if (first_alike[i] == i) all.push_back(i);
  }
  // Not std::shuffle: its draws differ between standard libraries.
  std::mt19937_64 random(1);
  for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random() % i]);
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  const std::set<std::size_t> in_first(all.begin(), middle);
  Halves halves;
  for (std::size_t i = 0; i < first_alike.size(); ++i) halves[in_first.contains(first_alike[i]) ? 0 : 1].push_back(i);
  return halves;
}

}  // namespace vernier
