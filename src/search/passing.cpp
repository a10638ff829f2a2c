#include "search/passing.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "search/trials.h"

namespace vernier {

double Costs::saved_by(const KeptSet& kept, std::size_t item) const {
  if (std::ranges::any_of(kept, [&](std::size_t other) { return items[other].needs == item; })) return 0;
  return borders.empty() ? items[item].cost : of(kept) - of(without(kept, std::array{item}));
}

double headroom(const Passing& best) {
  return has_exact_damage(best.trial) ? 1 - best.trial.damage : std::numeric_limits<double>::quiet_NaN();
}

std::vector<double> expected_damages(const std::vector<SearchItem>& items, const Passing& best,
                                     const Learned& learned) {
  std::vector<bool> kept(items.size(), false);
  for (const std::size_t i : best.kept) kept[i] = true;
  double low = 0;
  for (std::size_t i = 0; i < items.size(); ++i) low += kept[i] ? 0 : items[i].predicted_damage;
  const bool scalable = has_exact_damage(best.trial) && best.trial.damage > 0 && low > 0 && std::isfinite(low);
  const double scale = scalable ? best.trial.damage / low : 1;
  std::vector<double> expected(items.size());
  for (std::size_t i = 0; i < items.size(); ++i)
    expected[i] = std::isnan(learned[i]) ? scale * items[i].predicted_damage : learned[i];
  return expected;
}

void learn(Learned& learned, const Passing& best, std::size_t item, const Trial& failed) {
  const double room = headroom(best);
  const double difference = failed.damage - best.trial.damage;
  const double bound = std::isnan(room) ? std::numeric_limits<double>::infinity() : room;
  learned[item] = std::isnan(difference) ? bound : std::max(bound, difference);
}

}  // namespace vernier
