#include "search/minimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>

#include "search/conclude.h"
#include "search/minimum.h"
#include "search/prefix.h"
#include "search/trials.h"
#include "vernier/error.h"

namespace vernier {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Guided tests that may miss before the bracket is simply halved: interpolation crawls when one item jumps.
constexpr std::size_t kGuidedMisses = 3;
// Ranking noise allowed before the notes call the ranking poor (measured against predicted damage, either way).
constexpr double kPoorRanking = 3.0;
constexpr std::size_t kTestsBeforeJudgingRanking = 3;
// Estimates come from few samples: a set is only tested when they put it this far under the limit.
constexpr double kEstimateLimit = 0.99;
// Estimated drops in a row that did not fit before the rest is left to the tests.
constexpr std::size_t kRefusedDrops = 3;
// Share of the headroom that a trimmed block may use up by prediction.
constexpr double kHeadroomUse = 0.9;

/// A set that passed.
struct Passing {
  KeptSet kept;
  Trial trial;
};

struct Costs {
  std::span<const SearchItem> items;
  std::span<const Border> borders;

  double of(const KeptSet& kept) const { return cost_of(items, borders, kept); }
  /// What dropping `item` saves; not above 0 when borders eat it up. The drops of several items save at least the sum
  /// of what each saves alone.
  double saved_by(const KeptSet& kept, std::size_t item) const {
    return borders.empty() ? items[item].cost : of(kept) - of(without(kept, std::array{item}));
  }
};

/// What dropping one item alone did, learned on the way: NaN where it was not tried.
using Learned = std::vector<double>;

void validate(const std::vector<SearchItem>& items) {
  for (std::size_t i = 0; i < items.size(); ++i) {
    const SearchItem& item = items[i];
    if (std::isnan(item.predicted_damage) || item.predicted_damage < 0 || !(item.cost > 0) || std::isinf(item.cost)) {
      throw Error(ErrorKind::Internal, fmt::format("search item {} has predicted damage {} and cost {}: damage must be "
                                                   "at least 0 and cost above 0 and finite",
                                                   i, item.predicted_damage, item.cost));
    }
  }
}

/// What may still be added to the damage of a passing set. NaN when its damage is not known.
double headroom(const Passing& best) {
  return has_exact_damage(best.trial) ? 1 - best.trial.damage : std::numeric_limits<double>::quiet_NaN();
}

/// Damage expected from dropping each item of `best` alone: measured where it was tried, else predicted, scaled so that
/// the items already low account for the measured damage.
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

/// Records that dropping `item` from `best` failed: it does at least the headroom, exactly the difference if measured.
void learn(Learned& learned, const Passing& best, std::size_t item, const Trial& failed) {
  const double room = headroom(best);
  const double difference = failed.damage - best.trial.damage;
  const double bound = std::isnan(room) ? kInfinity : room;
  learned[item] = std::isnan(difference) ? bound : std::max(bound, difference);
}

double increment_of(const std::vector<std::pair<double, std::size_t>>& increments, std::size_t item) {
  return std::find_if(increments.begin(), increments.end(), [&](const auto& pair) { return pair.second == item; })
      ->first;
}

/// Predictions from more samples, once, when the first tests show that the present ones are poor. True: `items`
/// changed.
bool mended(std::vector<SearchItem>& items, const MinimalOptions& options, double ratio, MinimalResult& result) {
  if (!options.rerank) return false;
  const std::vector<double> predicted = options.rerank();
  if (predicted.size() != items.size()) return false;
  for (std::size_t i = 0; i < items.size(); ++i) items[i].predicted_damage = predicted[i];
  result.notes.push_back(fmt::format(
      "the ranking was poor (measured damage {:.3g} times the predicted one): it was measured again on more samples",
      ratio));
  return true;
}

MinimalOptions without_rerank(const MinimalOptions& options) {
  MinimalOptions rest = options;
  rest.rerank = {};
  return rest;
}

/// Shrinks the ranked prefix until one test passes and the next shorter one fails.
Passing guess(std::vector<SearchItem>& items, Ranking ranking, TrialLog& log, const MinimalOptions& options,
              MinimalResult& result) {
  bool may_mend = true;
  Bracket bracket{{0, result.all_low}, {ranking.order.size(), result.all_high}};
  std::size_t tests = 0;
  std::size_t misses = 0;
  while (!is_closed(bracket, ranking)) {
    const std::size_t width = bracket.passing.length - bracket.failing.length;
    const std::size_t length = misses >= kGuidedMisses ? halve(bracket, ranking) : aim(bracket, ranking);
    const double predicted = predicted_damage(bracket, ranking, length);
    const Trial* trial = log.ask(prefix(ranking, length));
    if (!trial) break;
    ++tests;
    if (has_exact_damage(*trial) && predicted > 0) result.prediction_ratio = trial->damage / predicted;
    (passes(*trial) ? bracket.passing : bracket.failing) = {length, *trial};
    const bool halved = 2 * (bracket.passing.length - bracket.failing.length) <= width;
    misses = halved ? 0 : misses + 1;
    const double ratio = result.prediction_ratio;
    const bool poor = ratio > 0 && (ratio > kPoorRanking || ratio < 1 / kPoorRanking);
    if (tests != kTestsBeforeJudgingRanking || !poor || !may_mend) continue;
    may_mend = false;
    if (mended(items, options, ratio, result)) {
      // The shortest passing prefix so far stays as good as it is, whatever the new order finds.
      const Passing found{prefix(ranking, bracket.passing.length), bracket.passing.trial};
      const Passing again = guess(items, rank(items), log, without_rerank(options), result);
      return again.kept.size() <= found.kept.size() ? again : found;
    }
    result.notes.push_back(
        fmt::format("the ranking is poor: after {} guided tests the measured damage is {:.3g} times "
                    "the predicted one; a better ranking would give a smaller set in fewer tests",
                    tests, ratio));
  }
  return {prefix(ranking, bracket.passing.length), bracket.passing.trial};
}

/// Replaces predictions of the kept items by what estimates say near the limit, and drops those that the estimates say
/// can go together. Single effects rank well far from the limit; near it, errors that cancel or meet decide.
Passing refine(std::vector<SearchItem>& items, const Costs& costs, Passing best, TrialLog& log,
               const MinimalOptions& options) {
  const double base = options.estimate(best.kept);
  if (!has_exact_damage(best.trial) || !(base > 0) || std::isinf(base)) return best;
  const double scale = best.trial.damage / base;  // makes the part of the samples speak for all
  std::vector<std::pair<double, std::size_t>> increments;
  for (const std::size_t i : best.kept) {
    if (log.stopped() || (options.stop && options.stop())) return best;
    if (costs.saved_by(best.kept, i) <= 0) continue;
    increments.emplace_back(scale * options.estimate(without(best.kept, std::array{i})) - best.trial.damage, i);
  }
  std::sort(increments.begin(), increments.end());

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
  if (!(low > 0) || !std::isfinite(low) || !(best.trial.damage > 0)) return best;
  for (const auto& [increment, item] : increments) {
    items[item].predicted_damage = std::max(0.0, increment) * low / best.trial.damage;
  }
  return best;
}

/// Up to `limit` items that are expected to be droppable together, least useful first. With no known headroom the
/// count alone decides. Items that once failed alone are left to the certification: each round of trimming ends.
KeptSet droppable_block(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best,
                        const Learned& learned, std::size_t limit) {
  const std::vector<double> expected = expected_damages(items, best, learned);
  const double room = headroom(best);
  std::vector<std::pair<double, std::size_t>> candidates;  // damage per cost saved
  for (const std::size_t i : best.kept) {
    const double saved = costs.saved_by(best.kept, i);
    if (std::isfinite(expected[i]) && std::isnan(learned[i]) && saved > 0)
      candidates.emplace_back(expected[i] / saved, i);
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  KeptSet block;
  double used = 0;
  for (const auto& [worth, i] : candidates) {
    if (block.size() == limit) break;
    if (!std::isnan(room) && used + expected[i] > kHeadroomUse * room) continue;
    used += expected[i];
    block.push_back(i);
  }
  std::sort(block.begin(), block.end());
  return block;
}

/// Drops blocks from the least useful end: twice as many after a success, half after a failure, until nothing is
/// expected to fit.
Passing trim(const std::vector<SearchItem>& items, const Costs& costs, Passing best, TrialLog& log, Learned& learned) {
  // A known headroom limits the first block better than a count does.
  std::size_t limit = std::isnan(headroom(best)) ? 1 : best.kept.size();
  for (;;) {
    const KeptSet block = droppable_block(items, costs, best, learned, limit);
    if (block.empty()) return best;
    const KeptSet smaller = without(best.kept, block);
    const Trial* trial = log.ask(smaller);
    if (!trial) return best;
    if (passes(*trial)) {
      best = {smaller, *trial};
      limit = 2 * block.size();
    } else {
      if (block.size() == 1) learn(learned, best, block.front(), *trial);
      limit = std::max<std::size_t>(1, block.size() / 2);
    }
  }
}

/// Tests the drop of every kept item, those most likely to pass first, so that a removal makes few earlier tests stale.
/// Returns at the first one that passes; the set is unchanged when none did.
Passing certify(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best, TrialLog& log,
                Learned& learned) {
  const std::vector<double> expected = expected_damages(items, best, learned);
  KeptSet order = best.kept;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool a_failed = !std::isnan(learned[a]);
    const bool b_failed = !std::isnan(learned[b]);
    return a_failed != b_failed ? b_failed : expected[a] < expected[b];
  });
  for (const std::size_t i : order) {
    if (costs.saved_by(best.kept, i) <= 0) continue;
    const KeptSet smaller = without(best.kept, std::array{i});
    const Trial* trial = log.ask(smaller);
    if (!trial) return best;
    if (passes(*trial)) return {smaller, *trial};
    learn(learned, best, i, *trial);
  }
  return best;
}

/// What single drops cannot do: a neighbour kept too where that saves its borders, and a region dropped as a whole.
Passing regroup(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best, TrialLog& log,
                const Learned& learned) {
  const double cost = costs.of(best.kept);
  const std::vector<double> expected = expected_damages(items, best, learned);
  const auto kept = [&](std::size_t i) { return std::binary_search(best.kept.begin(), best.kept.end(), i); };
  for (const Border& border : costs.borders) {
    KeptSet more = best.kept;
    KeptSet less;
    double damage = 0;
    bool untried = true;  // what fails without one of them fails without all
    for (const std::size_t i : border.items) {
      (kept(i) ? less : more).push_back(i);
      damage += kept(i) ? expected[i] : 0;
      untried = untried && (!kept(i) || std::isnan(learned[i]));
    }
    if (less.empty()) continue;
    std::sort(more.begin(), more.end());
    std::sort(less.begin(), less.end());
    std::vector<KeptSet> cheaper;
    if (more.size() > best.kept.size() && costs.of(more) < cost) cheaper.push_back(more);
    const KeptSet rest = without(best.kept, less);
    if (less.size() > 1 && untried && !(damage > headroom(best)) && costs.of(rest) < cost) cheaper.push_back(rest);
    for (const KeptSet& set : cheaper) {
      const Trial* trial = log.ask(set);
      if (!trial) return best;
      if (passes(*trial)) return {set, *trial};
    }
  }
  return best;
}

Certificate collect_certificate(const Costs& costs, const Passing& best, const TrialLog& log) {
  Certificate certificate;
  for (const std::size_t i : best.kept) {
    if (costs.saved_by(best.kept, i) <= 0) {
      certificate.not_cheaper.push_back(i);
      continue;
    }
    const Trial* trial = log.recorded(without(best.kept, std::array{i}));
    if (trial && !passes(*trial)) certificate.needed.push_back({i, *trial});
  }
  certificate.complete =
      passes(best.trial) && certificate.needed.size() + certificate.not_cheaper.size() == best.kept.size();
  return certificate;
}

/// Everything that only the end of the search knows.
MinimalResult conclude(SearchEnd end, const Costs& costs, const Passing& best, TrialLog& log, MinimalResult result) {
  result.end = end;
  result.kept = best.kept;
  result.final_trial = best.trial;
  result.cost = costs.of(best.kept);
  if (passes(best.trial)) result.certificate = collect_certificate(costs, best, log);
  conclude_trials(log, result);
  return result;
}

}  // namespace

MinimalResult search_minimal(const std::vector<SearchItem>& items, const Oracle& oracle,
                             const MinimalOptions& options) {
  validate(items);
  TrialLog log(oracle, options);
  MinimalResult result;

  KeptSet all(items.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Trial* all_high = log.ask(all);
  const Trial* all_low = log.ask({});
  if (all_high) result.all_high = *all_high;
  if (all_low) result.all_low = *all_low;
  const Costs costs{items, options.borders};
  if (all_high && !passes(*all_high)) return conclude(SearchEnd::Impossible, costs, {all, *all_high}, log, result);
  if (!all_high || !all_low) return conclude(SearchEnd::Stopped, costs, {all, result.all_high}, log, result);
  if (passes(*all_low)) return conclude(SearchEnd::NothingNeeded, costs, {{}, *all_low}, log, result);

  std::vector<SearchItem> known = items;
  const Ranking ranking = rank(items);
  if (ranking.mandatory > 0)
    result.notes.push_back(fmt::format(
        "{} are expected to give values that are not finite, and were kept from the start", ranking.mandatory));
  Passing best = guess(known, ranking, log, options, result);
  for (std::size_t before = best.kept.size() + 1;
       options.estimate && passes(best.trial) && best.kept.size() < before;) {
    before = best.kept.size();
    best = refine(known, costs, best, log, options);
  }
  Learned learned(items.size(), std::numeric_limits<double>::quiet_NaN());
  const auto settle = [&] {
    for (double before = kInfinity; costs.of(best.kept) < before && !log.stopped();) {
      best = trim(known, costs, best, log, learned);
      before = costs.of(best.kept);
      best = certify(known, costs, best, log, learned);
      if (costs.of(best.kept) == before) best = regroup(known, costs, best, log, learned);
    }
  };
  settle();
  if (options.prove_minimum) {
    // A cheaper set that the proof stumbles on is trimmed and certified in its turn.
    for (bool open = true; open && !log.stopped() && !log.contradiction();) {
      const MinimumProof proof = prove_minimum(known, options.borders, best.kept, log);
      result.lower_bound = proof.lower_bound;
      open = proof.cheaper.has_value();
      if (open) best = {*proof.cheaper, *log.recorded(*proof.cheaper)};
      settle();
    }
    if (log.contradiction()) result.lower_bound.reset();
  }
  const bool complete = collect_certificate(costs, best, log).complete;
  return conclude(complete ? SearchEnd::Certified : SearchEnd::Stopped, costs, best, log, result);
}

}  // namespace vernier
