#include "search/ranking_quality.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

namespace vernier {
namespace {

// Rounds of the correction: few, so that the predictions stay the prior where trials say little.
constexpr int kRounds = 30;

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last + 1 < order.size() && values[order[last + 1]] == values[order[first]]) ++last;
    for (std::size_t k = first; k <= last; ++k) rank[order[k]] = static_cast<double>(first + last) / 2;
    first = last + 1;
  }
  return rank;
}

struct Measured {
  std::vector<std::size_t> low;
  double damage = 0;
};

std::vector<Measured> usable_trials(std::span<const SearchItem> items, const TrialLog& log) {
  KeptSet finite;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (std::isfinite(items[i].predicted_damage)) finite.push_back(i);
  }
  KeptSet all(items.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Measured> trials;
  log.for_each([&](const KeptSet& kept, const Trial& trial) {
    if (!has_exact_damage(trial) || trial.damage > kStillAdditive) return;
    Measured measured{without(all, kept), trial.damage};
    const bool known = std::includes(finite.begin(), finite.end(), measured.low.begin(), measured.low.end());
    if (known && !measured.low.empty()) trials.push_back(std::move(measured));
  });
  return trials;
}

}  // namespace

std::optional<double> rank_correlation(std::span<const double> predicted, std::span<const double> measured) {
  constexpr std::size_t kFewest = 4;
  if (predicted.size() < kFewest) return std::nullopt;
  const std::vector<double> a = ranks(predicted);
  const std::vector<double> b = ranks(measured);
  const double mean = static_cast<double>(a.size() - 1) / 2;
  double ab = 0;
  double aa = 0;
  double bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ab += (a[i] - mean) * (b[i] - mean);
    aa += (a[i] - mean) * (a[i] - mean);
    bb += (b[i] - mean) * (b[i] - mean);
  }
  if (aa == 0 || bb == 0) return std::nullopt;
  return ab / std::sqrt(aa * bb);
}

std::vector<double> predictions_from_trials(std::span<const SearchItem> items, const TrialLog& log) {
  std::vector<double> damage;
  for (const SearchItem& item : items) damage.push_back(item.predicted_damage);
  constexpr double kMostFactor = 1e300;  // of what nobody predicted: infinity would become NaN in the next round
  const std::vector<Measured> trials = usable_trials(items, log);
  for (int round = 0; round < kRounds; ++round) {
    std::vector<double> factor(items.size(), 0.0);
    std::vector<double> count(items.size(), 0.0);
    for (const Measured& trial : trials) {
      double sum = 0;
      for (const std::size_t i : trial.low) sum += damage[i];
      if (!(sum > 0)) continue;
      for (const std::size_t i : trial.low) {
        factor[i] += std::min(trial.damage / sum, kMostFactor);
        count[i] += 1;
      }
    }
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (count[i] > 0) damage[i] *= factor[i] / count[i];
    }
  }
  return damage;
}

}  // namespace vernier
