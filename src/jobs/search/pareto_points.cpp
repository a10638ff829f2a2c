// The curve of accuracy against cost.
#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "jobs/search/kept_set_report.h"
#include "search/prefix.h"
#include "search/trials.h"
#include "vernier/report/kept_set.h"

namespace vernier {

std::vector<ParetoPoint> pareto_points(const SearchContext& context, std::map<KeptSet, Trial> measured,
                                       const Oracle& oracle, const std::function<bool()>& stopped,
                                       std::size_t& evaluations) {
  constexpr std::size_t kMoreTrials = 6;
  const Ranking ranking = rank(context.items);
  std::size_t more = 0;
  for (std::size_t length = 1; length < context.items.size() && more < kMoreTrials && !stopped();
       length += (length + 1) / 2 + 1) {
    const KeptSet set = prefix(ranking, length);
    if (const auto known = measured.find(set); known != measured.end() && has_exact_damage(known->second)) continue;
    const Trial trial = oracle(set);
    ++more;
    measured[set] = trial;
  }
  evaluations += more;

  std::vector<ParetoPoint> points;
  for (const auto& [set, trial] : measured) {
    if (!has_exact_damage(trial)) continue;
    points.push_back(
        {context.layers(set), context.cost(set), trial.metric, trial.damage, false, context.raised_to(set)});
  }
  std::stable_sort(points.begin(), points.end(), [](const ParetoPoint& a, const ParetoPoint& b) {
    return std::pair(a.cost, a.damage) < std::pair(b.cost, b.damage);
  });
  double least = std::numeric_limits<double>::infinity();
  for (ParetoPoint& point : points) {
    point.front = point.damage < least;
    least = std::min(least, point.damage);
  }
  return points;
}

}  // namespace vernier
