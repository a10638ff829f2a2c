#include "search/minimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "search/prefix.h"
#include "search/trials.h"
#include "vernier/error.h"

namespace vernier {
namespace {

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
  const double bound = std::isnan(room) ? std::numeric_limits<double>::infinity() : room;
  learned[item] = std::isnan(difference) ? bound : std::max(bound, difference);
}

double increment_of(const std::vector<std::pair<double, std::size_t>>& increments, std::size_t item) {
  return std::find_if(increments.begin(), increments.end(), [&](const auto& pair) { return pair.second == item; })
      ->first;
}

/// Shrinks the ranked prefix until one test passes and the next shorter one fails.
Passing guess(const Ranking& ranking, TrialLog& log, MinimalResult& result) {
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
    if (tests == kTestsBeforeJudgingRanking && ratio > 0 && (ratio > kPoorRanking || ratio < 1 / kPoorRanking)) {
      result.notes.push_back(
          fmt::format("the ranking is poor: after {} guided tests the measured damage is {:.3g} times "
                      "the predicted one; a better ranking would give a smaller set in fewer tests",
                      tests, ratio));
    }
  }
  return {prefix(ranking, bracket.passing.length), bracket.passing.trial};
}

/// Replaces predictions of the kept items by what estimates say near the limit, and drops those that the estimates say
/// can go together. Single effects rank well far from the limit; near it, errors that cancel or meet decide.
Passing refine(std::vector<SearchItem>& items, Passing best, TrialLog& log, const MinimalOptions& options) {
  const double base = options.estimate(best.kept);
  if (!has_exact_damage(best.trial) || !(base > 0) || std::isinf(base)) return best;
  const double scale = best.trial.damage / base;  // makes the part of the samples speak for all
  std::vector<std::pair<double, std::size_t>> increments;
  for (const std::size_t i : best.kept) {
    if (log.stopped() || (options.stop && options.stop())) return best;
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
KeptSet droppable_block(const std::vector<SearchItem>& items, const Passing& best, const Learned& learned,
                        std::size_t limit) {
  const std::vector<double> expected = expected_damages(items, best, learned);
  const double room = headroom(best);
  KeptSet candidates;
  std::copy_if(best.kept.begin(), best.kept.end(), std::back_inserter(candidates),
               [&](std::size_t i) { return std::isfinite(expected[i]) && std::isnan(learned[i]); });
  std::stable_sort(candidates.begin(), candidates.end(), [&](std::size_t a, std::size_t b) {
    return expected[a] / items[a].cost < expected[b] / items[b].cost;
  });
  KeptSet block;
  double used = 0;
  for (const std::size_t i : candidates) {
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
Passing trim(const std::vector<SearchItem>& items, Passing best, TrialLog& log, Learned& learned) {
  // A known headroom limits the first block better than a count does.
  std::size_t limit = std::isnan(headroom(best)) ? 1 : best.kept.size();
  for (;;) {
    const KeptSet block = droppable_block(items, best, learned, limit);
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
Passing certify(const std::vector<SearchItem>& items, const Passing& best, TrialLog& log, Learned& learned) {
  const std::vector<double> expected = expected_damages(items, best, learned);
  KeptSet order = best.kept;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const bool a_failed = !std::isnan(learned[a]);
    const bool b_failed = !std::isnan(learned[b]);
    return a_failed != b_failed ? b_failed : expected[a] < expected[b];
  });
  for (const std::size_t i : order) {
    const KeptSet smaller = without(best.kept, std::array{i});
    const Trial* trial = log.ask(smaller);
    if (!trial) return best;
    if (passes(*trial)) return {smaller, *trial};
    learn(learned, best, i, *trial);
  }
  return best;
}

Certificate collect_certificate(const Passing& best, const TrialLog& log) {
  Certificate certificate;
  for (const std::size_t i : best.kept) {
    const Trial* trial = log.recorded(without(best.kept, std::array{i}));
    if (trial && !passes(*trial)) certificate.needed.push_back({i, *trial});
  }
  certificate.complete = passes(best.trial) && certificate.needed.size() == best.kept.size();
  return certificate;
}

/// Asks again for a set whose answer is in doubt. True when the verdict flipped.
bool flips(const KeptSet& kept, TrialLog& log, std::vector<std::string>& notes) {
  const bool before = passes(*log.recorded(kept));
  const std::optional<Trial> again = log.repeat(kept);
  if (!again) {
    notes.push_back("the answers contradict each other, and the search ended before they could be repeated");
    return false;
  }
  if (passes(*again) == before) return false;
  notes.push_back(fmt::format("the oracle is unstable: the same set of {} kept items {} first and then {}", kept.size(),
                              before ? "passed" : "failed", before ? "failed" : "passed"));
  return true;
}

void note_undecided(const TrialLog& log, std::vector<std::string>& notes) {
  const std::array<std::pair<Verdict, const char*>, 3> undecided{
      {{Verdict::Invalid, "invalid"}, {Verdict::TimedOut, "timed out"}, {Verdict::Unstable, "unstable"}}};
  for (const auto& [verdict, name] : undecided)
    if (const std::size_t n = log.count(verdict))
      notes.push_back(fmt::format("{} of {} tests came back as {}: counted as failed", n, log.calls(), name));
}

/// Re-tests what a contradiction puts in doubt, and fills in everything that only the end of the search knows.
MinimalResult conclude(SearchEnd end, const Passing& best, TrialLog& log, MinimalResult result) {
  result.end = end;
  result.kept = best.kept;
  result.final_trial = best.trial;
  if (passes(best.trial)) result.certificate = collect_certificate(best, log);
  result.non_monotone = log.contradiction().has_value();
  if (result.non_monotone) {
    result.notes.push_back(fmt::format("not monotone: a set of {} kept items failed although a part of it passed",
                                       log.contradiction()->size()));
    if (flips(*log.contradiction(), log, result.notes) ||
        (best.kept != *log.contradiction() && flips(best.kept, log, result.notes))) {
      result.end = SearchEnd::Unstable;
    }
  }
  note_undecided(log, result.notes);
  result.trials = log.calls();
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
  if (all_high && !passes(*all_high)) return conclude(SearchEnd::Impossible, {all, *all_high}, log, result);
  if (!all_high || !all_low) return conclude(SearchEnd::Stopped, {all, result.all_high}, log, result);
  if (passes(*all_low)) return conclude(SearchEnd::NothingNeeded, {{}, *all_low}, log, result);

  const Ranking ranking = rank(items);
  if (ranking.mandatory > 0)
    result.notes.push_back(fmt::format(
        "{} are expected to give values that are not finite, and were kept from the start", ranking.mandatory));
  Passing best = guess(ranking, log, result);
  std::vector<SearchItem> known = items;
  for (std::size_t before = best.kept.size() + 1;
       options.estimate && passes(best.trial) && best.kept.size() < before;) {
    before = best.kept.size();
    best = refine(known, best, log, options);
  }
  Learned learned(items.size(), std::numeric_limits<double>::quiet_NaN());
  for (std::size_t before = best.kept.size() + 1; best.kept.size() < before && !log.stopped();) {
    best = trim(known, best, log, learned);
    before = best.kept.size();
    best = certify(known, best, log, learned);
  }
  const bool complete = collect_certificate(best, log).complete;
  return conclude(complete ? SearchEnd::Certified : SearchEnd::Stopped, best, log, result);
}

}  // namespace vernier
