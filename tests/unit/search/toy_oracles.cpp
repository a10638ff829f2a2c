#include "toy_oracles.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <numeric>
#include <random>

#include "vernier/runs.h"

namespace vernier::toys {
namespace {

constexpr double kBackground = 0.5;

std::vector<SearchItem> predict(const std::vector<double>& damage, double sigma, std::mt19937_64& random) {
  std::normal_distribution<double> noise;
  std::vector<SearchItem> items;
  for (const double d : damage) items.push_back({d * std::exp(sigma * noise(random)), 1});
  return items;
}

std::vector<double> log_normal(std::size_t count, double spread, std::mt19937_64& random) {
  std::normal_distribution<double> draw;
  std::vector<double> damage(count);
  for (double& d : damage) d = std::exp(spread * draw(random));
  return damage;
}

}  // namespace

Toy ranked(std::vector<double> damage) {
  Toy toy;
  for (const double d : damage) toy.items.push_back({d, 1});
  toy.damage = std::move(damage);
  return toy;
}

Toy spiky(std::size_t count, std::size_t culprits, double sigma, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Toy toy;
  toy.damage = log_normal(count, 1, random);
  const double sum = std::accumulate(toy.damage.begin(), toy.damage.end(), 0.0);
  for (double& d : toy.damage) d *= kBackground / sum;
  std::vector<std::size_t> place(count);
  std::iota(place.begin(), place.end(), std::size_t{0});
  std::shuffle(place.begin(), place.end(), random);
  std::uniform_real_distribution<double> exponent(0.2, 1.5);
  for (std::size_t k = 0; k < culprits; ++k) toy.damage[place[k]] = std::pow(10, exponent(random));
  toy.items = predict(toy.damage, sigma, random);
  toy.optimum = culprits;
  return toy;
}

Toy diffuse(std::size_t count, std::size_t optimum, double sigma, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Toy toy;
  toy.damage = log_normal(count, 1, random);
  std::vector<double> sorted = toy.damage;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  const double rest = std::accumulate(sorted.begin() + static_cast<std::ptrdiff_t>(optimum), sorted.end(), 0.0);
  const double limit = rest + sorted[optimum - 1] / 2;
  for (double& d : toy.damage) d /= limit;
  toy.items = predict(toy.damage, sigma, random);
  toy.optimum = optimum;
  return toy;
}

Toy with_interactions(Toy toy, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<std::size_t> item(0, toy.damage.size() - 1);
  std::uniform_real_distribution<double> strength(-0.5, 1.0);
  for (std::size_t n = 0; n < toy.damage.size() / 5; ++n) {
    const std::size_t a = item(random);
    const std::size_t b = item(random);
    if (a != b) toy.pairs.push_back({a, b, strength(random) * std::sqrt(toy.damage[a] * toy.damage[b])});
  }
  return toy;
}

Toy ladder(std::size_t layers, std::size_t rungs, double sigma, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  constexpr double kAllLow = 10;
  constexpr double kBits[] = {4, 4, 16};
  std::uniform_real_distribution<double> part(0.02, 0.5);  // of a rung's damage that is left one rung up
  const std::vector<double> alone = log_normal(layers, 1.5, random);
  const std::vector<double> weights = log_normal(layers, 1, random);
  Toy toy;
  std::vector<double> costs;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    double left = alone[layer];
    for (std::size_t step = 0; step + 1 < rungs; ++step) {
      const double above = step + 2 < rungs ? left * part(random) : 0;
      toy.damage.push_back(left - above);
      costs.push_back(weights[layer] * kBits[step]);
      left = above;
    }
  }
  const double sum = std::accumulate(toy.damage.begin(), toy.damage.end(), 0.0);
  for (double& d : toy.damage) d *= kAllLow / sum;
  toy.items = predict(toy.damage, sigma, random);
  for (std::size_t i = 0; i < toy.items.size(); ++i) {
    toy.items[i].cost = costs[i];
    if (i % (rungs - 1) != 0) toy.items[i].needs = i - 1;
  }
  return toy;
}

double cheapest_cost(const Toy& toy) {
  double best = std::numeric_limits<double>::infinity();
  KeptSet kept;
  const std::function<void(std::size_t, double)> decide = [&](std::size_t item, double cost) {
    if (cost >= best) return;
    if (item == toy.items.size()) {
      if (damage_of(toy, kept) <= 1) best = cost;
      return;
    }
    std::size_t end = item + 1;
    while (end < toy.items.size() && toy.items[end].needs != kNoItem) ++end;
    decide(end, cost);
    const std::size_t before = kept.size();
    for (std::size_t step = item; step < end; ++step) {
      kept.push_back(step);
      cost += toy.items[step].cost;
      decide(end, cost);
    }
    kept.resize(before);
  };
  decide(0, 0);
  return best;
}

double damage_of(const Toy& toy, const KeptSet& kept) {
  std::vector<bool> low(toy.damage.size(), true);
  // Ascending: what an item needs comes before it.
  for (const std::size_t i : kept) low[i] = toy.items[i].needs != kNoItem && low[toy.items[i].needs];
  double sum = 0;
  for (std::size_t i = 0; i < low.size(); ++i) sum += low[i] ? toy.damage[i] : 0;
  for (const Pair& pair : toy.pairs) sum += low[pair.a] && low[pair.b] ? pair.extra : 0;
  return std::max(sum, 0.0);
}

Oracle honest(const Toy& toy, bool early_stop) {
  return [&toy, early_stop](const KeptSet& kept) {
    const double damage = damage_of(toy, kept);
    Trial trial;
    trial.verdict = damage <= 1 ? Verdict::Good : Verdict::Bad;
    trial.stopped_early = early_stop && damage > 1;
    trial.damage = trial.stopped_early ? std::min(damage, 1.05) : damage;
    trial.metric = -10 * std::log10(damage);
    return trial;
  };
}

Run search(const Toy& toy, const Oracle& oracle, MinimalOptions options) {
  Run run;
  options.on_trial = [&run](const KeptSet& kept, const Trial& trial) { run.trials.push_back({kept, trial}); };
  run.result = search_minimal(toy.items, oracle, options);
  return run;
}

CertificateCheck recheck(std::size_t item_count, const KeptSet& kept, const Certificate& certificate,
                         const Oracle& oracle, std::span<const SearchItem> items) {
  std::vector<RecordedTrial> trials{{kept, oracle(kept)}};
  for (const std::size_t item : kept) {
    KeptSet less = kept;
    std::erase(less, item);
    trials.push_back({less, oracle(less)});
  }
  return check_certificate(item_count, kept, certificate, trials, items);
}

}  // namespace vernier::toys
