#include "search/exchange.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>

namespace vernier {
namespace {

// Sweeps over the trials.
constexpr int kSweeps = 200;
constexpr std::size_t kSteps = 4096;
constexpr std::size_t kFewTrials = 8;
// Steps of the allowance: less after a set that is known to fail though it should pass, more where none should.
constexpr double kStep = 0.02;
constexpr std::size_t kMostShrinks = 40;
constexpr double kMostOptimism = 1.6;
constexpr double kSlack = 1e-9;

struct Equation {
  std::vector<std::size_t> low;
  double damage = 0;
  bool bound = false;  // the sum is at least that
};

KeptSet all_of(std::span<const SearchItem> items) {
  KeptSet all(items.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

/// What is left with everything kept.
double damage_of_all_kept(std::span<const SearchItem> items, const TrialLog& log) {
  const Trial* trial = log.recorded(all_of(items));
  return trial != nullptr && has_exact_damage(*trial) ? trial->damage : 0;
}

std::vector<Equation> equations(std::span<const SearchItem> items, const TrialLog& log) {
  std::vector<Equation> found;
  const KeptSet all = all_of(items);
  const double base = damage_of_all_kept(items, log);
  log.for_each([&](const KeptSet& kept, const Trial& trial) {
    const bool bound = trial.stopped_early && std::isfinite(trial.damage);
    if (!(trial.damage > base) || trial.damage > kStillAdditive || (!bound && !has_exact_damage(trial))) return;
    Equation equation{without(all, kept), trial.damage - base, bound};
    const bool finite =
        std::ranges::all_of(equation.low, [&](std::size_t i) { return std::isfinite(items[i].predicted_damage); });
    if (finite && !equation.low.empty()) found.push_back(std::move(equation));
  });
  // What lies nearest to the limit has the last word.
  std::ranges::stable_sort(found, [](const Equation& a, const Equation& b) {
    return std::abs(std::log(a.damage)) > std::abs(std::log(b.damage));
  });
  return found;
}

/// Items that are kept from the first one on, or not at all: each a layer, with what is low and what it costs for each
/// number of kept ones.
struct Layer {
  std::vector<std::size_t> items;
  std::vector<double> low;
  std::vector<double> cost;
};

std::vector<Layer> layers_of(std::span<const SearchItem> items, std::span<const double> damages) {
  std::vector<std::size_t> next(items.size(), kNoItem);
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].needs != kNoItem) next[items[i].needs] = i;
  }
  std::vector<Layer> layers;
  for (std::size_t first = 0; first < items.size(); ++first) {
    if (items[first].needs != kNoItem) continue;
    Layer layer;
    for (std::size_t i = first; i != kNoItem; i = next[i]) layer.items.push_back(i);
    layer.low.assign(layer.items.size() + 1, 0.0);
    layer.cost.assign(layer.items.size() + 1, 0.0);
    for (std::size_t k = layer.items.size(); k-- > 0;) layer.low[k] = layer.low[k + 1] + damages[layer.items[k]];
    for (std::size_t k = 0; k < layer.items.size(); ++k) layer.cost[k + 1] = layer.cost[k] + items[layer.items[k]].cost;
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace

std::vector<double> damages_from_trials(std::span<const SearchItem> items, const TrialLog& log) {
  std::vector<double> damages;
  for (const SearchItem& item : items) damages.push_back(item.predicted_damage);
  const std::vector<Equation> known = equations(items, log);
  for (int sweep = 0; sweep < kSweeps; ++sweep) {
    for (const Equation& equation : known) {
      double sum = 0;
      for (const std::size_t i : equation.low) sum += damages[i];
      if (!(sum > 0) || (equation.bound && sum >= equation.damage)) continue;
      for (const std::size_t i : equation.low) damages[i] *= equation.damage / sum;
    }
  }
  return damages;
}

KeptSet cheapest_by_sum(std::span<const SearchItem> items, std::span<const double> damages, double allowance) {
  const std::vector<Layer> layers = layers_of(items, damages);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> least(kSteps + 1, 0.0);  // cost of the layers so far, by steps of the allowance that are left
  std::vector<std::vector<std::uint8_t>> choices;
  const auto steps_of = [&](double low) {
    const double steps = std::round(low / allowance * static_cast<double>(kSteps));
    return steps <= static_cast<double>(kSteps) ? static_cast<std::size_t>(steps) : kSteps + 1;
  };
  for (const Layer& layer : layers) {
    std::vector<double> with(kSteps + 1, kInfinity);
    std::vector<std::uint8_t> choice(kSteps + 1, 0);
    for (std::size_t kept = 0; kept < layer.low.size(); ++kept) {
      const std::size_t used = steps_of(layer.low[kept]);
      for (std::size_t left = used; left <= kSteps; ++left) {
        const double cost = least[left - used] + layer.cost[kept];
        if (!(cost < with[left])) continue;
        with[left] = cost;
        choice[left] = static_cast<std::uint8_t>(kept);
      }
    }
    least = std::move(with);
    choices.push_back(std::move(choice));
  }
  KeptSet kept;
  std::size_t left = kSteps;
  for (std::size_t l = layers.size(); l-- > 0;) {
    const std::size_t count = choices[l][left];
    kept.insert(kept.end(), layers[l].items.begin(), layers[l].items.begin() + static_cast<std::ptrdiff_t>(count));
    left -= steps_of(layers[l].low[count]);
  }
  std::ranges::sort(kept);
  return kept;
}

Passing exchange(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best, TrialLog& log) {
  if (!passes(best.trial)) return best;
  const double cost = costs.of(best.kept);
  const double base = 1 - damage_of_all_kept(items, log);
  double allowance = base;
  double optimism = 1;
  std::size_t shrinks = 0;
  std::vector<double> damages = damages_from_trials(items, log);
  for (std::size_t calls = 0; allowance > 0 && calls < kFewTrials + best.kept.size() / 2 && !log.told_to_stop();) {
    const KeptSet set = cheapest_by_sum(items, damages, allowance);
    if (costs.of(set) >= cost - kSlack * cost) {
      // Nothing should pass: what should just miss it may do less than it should.
      if (optimism >= kMostOptimism) break;
      optimism *= 1 + kStep;
      allowance = base * optimism;
      continue;
    }
    if (log.recorded(set) != nullptr) {
      allowance *= 1 - kStep;
      if (++shrinks == kMostShrinks) break;
      continue;
    }
    const Trial* trial = log.ask(set);
    if (!trial) break;
    if (passes(*trial)) return {set, *trial};
    damages = damages_from_trials(items, log);
    ++calls;
  }
  return best;
}

}  // namespace vernier
