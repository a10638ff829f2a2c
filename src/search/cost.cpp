#include "search/cost.h"

#include <algorithm>

namespace vernier {

double cost_of(std::span<const SearchItem> items, std::span<const Border> borders, const KeptSet& kept) {
  std::vector<bool> high(items.size(), false);
  double cost = 0;
  for (const std::size_t item : kept) {
    high[item] = true;
    cost += items[item].cost;
  }
  for (const Border& border : borders) {
    const auto in_high = [&high](std::size_t item) { return high[item]; };
    const auto count = std::count_if(border.items.begin(), border.items.end(), in_high);
    if (count != 0 && count != static_cast<std::ptrdiff_t>(border.items.size())) cost += border.cost;
  }
  return cost;
}

}  // namespace vernier
