#include "search/refine.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "search/ranking_quality.h"

namespace vernier {
namespace {

// Estimates come from few samples: a set is only tested when they put it this far under the limit.
constexpr double kEstimateLimit = 0.99;
// Estimated drops in a row that did not fit before the rest is left to the tests.
constexpr std::size_t kRefusedDrops = 3;

double increment_of(const std::vector<std::pair<double, std::size_t>>& increments, std::size_t item) {
  return std::find_if(increments.begin(), increments.end(), [&](const auto& pair) { return pair.second == item; })
      ->first;
}

void watch_ranking(const std::vector<SearchItem>& items, const std::vector<std::pair<double, std::size_t>>& increments,
                   MinimalResult& result) {
  if (result.ranked > 0) return;
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const auto& [increment, item] : increments) {
    predicted.push_back(items[item].predicted_damage);
    measured.push_back(increment);
  }
  result.rank_correlation = rank_correlation(predicted, measured);
  result.ranked = predicted.size();
}

}  // namespace

Found refine(const Found& found, std::span<const Border> borders, TrialLog& log, const MinimalOptions& options,
             MinimalResult& result) {
  const std::vector<SearchItem>& items = found.items;
  const Costs costs{items, borders};
  Found refined = found;
  Passing& best = refined.passing;
  KeptSet cheaper_without;
  std::vector<KeptSet> next{best.kept};
  for (const std::size_t i : best.kept) {
    if (costs.saved_by(best.kept, i) <= 0) continue;
    cheaper_without.push_back(i);
    next.push_back(without(best.kept, std::array{i}));
  }
  if (options.estimates_ahead) options.estimates_ahead(std::move(next));
  const double base = options.estimate(best.kept);
  if (!has_exact_damage(best.trial) || !(base > 0) || std::isinf(base)) return refined;
  const double scale = best.trial.damage / base;  // makes the part of the samples speak for all
  std::vector<std::pair<double, std::size_t>> increments;
  for (const std::size_t i : cheaper_without) {
    if (log.stopped() || (options.stop && options.stop())) return refined;
    increments.emplace_back(scale * options.estimate(without(best.kept, std::array{i})) - best.trial.damage, i);
  }
  std::sort(increments.begin(), increments.end());
  watch_ranking(items, increments, result);

  // Greedily, each drop on top of those before, while the estimate stays under the limit.
  std::vector<std::size_t> dropped;
  std::size_t refused = 0;
  for (const auto& [increment, item] : increments) {
    if (refused == kRefusedDrops || best.trial.damage + increment > kEstimateLimit) break;
    std::vector<std::size_t> more = dropped;
    more.push_back(item);
    std::sort(more.begin(), more.end());
    const bool fits = dropped.empty() || scale * options.estimate(without(best.kept, more)) <= kEstimateLimit;
    if (fits) dropped = more;
    refused = fits ? 0 : refused + 1;
  }
  const Passing before = best;
  while (!dropped.empty()) {
    const KeptSet smaller = without(before.kept, dropped);
    const Trial* trial = log.ask(smaller);
    if (!trial) break;
    if (passes(*trial)) {
      best = {smaller, *trial};
      break;
    }
    // The most damaging of them comes back.
    const auto worst = std::max_element(dropped.begin(), dropped.end(), [&](std::size_t a, std::size_t b) {
      return increment_of(increments, a) < increment_of(increments, b);
    });
    dropped.erase(worst);
  }
  // The predictions that trim and certify read: in the unit in which they scale them back.
  double low = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (!std::binary_search(best.kept.begin(), best.kept.end(), i)) low += items[i].predicted_damage;
  }
  if (!(low > 0) || !std::isfinite(low) || !(best.trial.damage > 0)) return refined;
  for (const auto& [increment, item] : increments) {
    refined.items[item].predicted_damage = std::max(0.0, increment) * low / best.trial.damage;
  }
  return refined;
}

}  // namespace vernier
