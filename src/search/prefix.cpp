#include "search/prefix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "search/trials.h"

namespace vernier {
namespace {

// Just under the limit: a pass that lands there has little headroom left, so few kept items turn out to be droppable.
// On the toy networks of bench/search_toys.cpp 0.98 needs fewer tests than 0.7 to 0.95.
constexpr double kAimedDamage = 0.98;

// D = damage * (residual / at)^exponent.
struct Curve {
  double damage = 0;
  double at = 0;
  double exponent = 1;
};

bool usable(const PrefixPoint& point, const Ranking& ranking) {
  return has_exact_damage(point.trial) && point.trial.damage > 0 && ranking.residual[point.length] > 0;
}

Curve fit(const Bracket& bracket, const Ranking& ranking) {
  const bool low = usable(bracket.failing, ranking);
  const bool high = usable(bracket.passing, ranking);
  const double low_residual = ranking.residual[bracket.failing.length];
  const double high_residual = ranking.residual[bracket.passing.length];
  const double low_damage = bracket.failing.trial.damage;
  const double high_damage = bracket.passing.trial.damage;
  if (!low && !high) return {std::numeric_limits<double>::quiet_NaN(), 1, 1};
  if (!high) return {low_damage, low_residual, 1};
  if (!low) return {high_damage, high_residual, 1};
  const bool rising = low_residual > high_residual && low_damage > high_damage;
  const double exponent = rising ? std::log(low_damage / high_damage) / std::log(low_residual / high_residual) : 1;
  const bool low_is_nearer = std::abs(std::log(low_damage)) < std::abs(std::log(high_damage));
  return low_is_nearer ? Curve{low_damage, low_residual, exponent} : Curve{high_damage, high_residual, exponent};
}

/// What each item is ranked by: damage per cost. One that needs another never comes before it: where it is the more
/// useful of the two, they count as one.
std::vector<double> usefulness(std::span<const SearchItem> items) {
  struct Block {
    double damage = 0;
    double cost = 0;
    std::vector<std::size_t> items;
    double worth() const { return damage / cost; }
  };
  std::vector<std::size_t> next(items.size(), kNoItem);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].needs != kNoItem) next[items[i].needs] = i;
  }
  std::vector<double> worth(items.size());
  for (std::size_t first = 0; first < items.size(); ++first) {
    if (items[first].needs != kNoItem) continue;
    std::vector<Block> blocks;
    for (std::size_t i = first; i != kNoItem; i = next[i]) {
      blocks.push_back({items[i].predicted_damage, items[i].cost, {i}});
      while (blocks.size() > 1 && blocks[blocks.size() - 2].worth() < blocks.back().worth()) {
        const Block last = std::move(blocks.back());
        blocks.pop_back();
        blocks.back().damage += last.damage;
        blocks.back().cost += last.cost;
        blocks.back().items.insert(blocks.back().items.end(), last.items.begin(), last.items.end());
      }
    }
    for (const Block& block : blocks) {
      for (const std::size_t i : block.items) worth[i] = block.worth();
    }
  }
  return worth;
}

std::size_t shortest(const Bracket& bracket, const Ranking& ranking) {
  return std::max(bracket.failing.length + 1, ranking.mandatory);
}

}  // namespace

Ranking rank(std::span<const SearchItem> items) {
  Ranking ranking;
  ranking.order.resize(items.size());
  std::iota(ranking.order.begin(), ranking.order.end(), std::size_t{0});
  const std::vector<double> worth = usefulness(items);
  std::stable_sort(ranking.order.begin(), ranking.order.end(),
                   [&](std::size_t a, std::size_t b) { return worth[a] > worth[b]; });
  ranking.residual.assign(items.size() + 1, 0.0);
  for (std::size_t m = items.size(); m-- > 0;) {
    const double damage = items[ranking.order[m]].predicted_damage;
    if (std::isinf(worth[ranking.order[m]])) ++ranking.mandatory;
    ranking.residual[m] = ranking.residual[m + 1] + (std::isinf(damage) ? 0 : damage);
  }
  return ranking;
}

KeptSet prefix(const Ranking& ranking, std::size_t length) {
  KeptSet kept(ranking.order.begin(), ranking.order.begin() + static_cast<std::ptrdiff_t>(length));
  std::sort(kept.begin(), kept.end());
  return kept;
}

bool is_closed(const Bracket& bracket, const Ranking& ranking) {
  return shortest(bracket, ranking) >= bracket.passing.length;
}

double predicted_damage(const Bracket& bracket, const Ranking& ranking, std::size_t length) {
  const Curve curve = fit(bracket, ranking);
  return curve.damage * std::pow(ranking.residual[length] / curve.at, curve.exponent);
}

std::size_t aim(const Bracket& bracket, const Ranking& ranking) {
  const Curve curve = fit(bracket, ranking);
  // Without a number (overflow, early stop) the prediction is taken at its word once, then the residual is quartered.
  const double untested = ranking.residual[bracket.failing.length];
  const double blind = untested > 2 * kAimedDamage ? kAimedDamage : untested / 4;
  const double wanted =
      std::isnan(curve.damage) ? blind : curve.at * std::pow(kAimedDamage / curve.damage, 1 / curve.exponent);
  const auto at = std::find_if(ranking.residual.begin(), ranking.residual.end(),
                               [wanted](double residual) { return residual <= wanted; });
  const auto length = static_cast<std::size_t>(at - ranking.residual.begin());
  return std::clamp(length, shortest(bracket, ranking), bracket.passing.length - 1);
}

std::size_t halve(const Bracket& bracket, const Ranking& ranking) {
  const std::size_t first = shortest(bracket, ranking);
  const std::size_t last = bracket.passing.length - 1;
  const bool only_all_passed = bracket.passing.length == ranking.order.size();
  return only_all_passed ? std::min(2 * first, last) : first + (last - first) / 2;
}

}  // namespace vernier
