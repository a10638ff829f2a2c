#include "search/minimal.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "search/certificate.h"
#include "search/conclude.h"
#include "search/exchange.h"
#include "search/guess.h"
#include "search/minimum.h"
#include "search/prefix.h"
#include "search/ranking_quality.h"
#include "search/refine.h"
#include "search/trials.h"
#include "search/trim.h"
#include "vernier/error.h"

namespace vernier {
namespace {

// Of the allowance: 3 dB better than asked for.
constexpr double kFarInside = 0.5;
constexpr double kMuchWorse = 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void validate(const std::vector<SearchItem>& items) {
  std::set<std::size_t> needed;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const SearchItem& item = items[i];
    if (std::isnan(item.predicted_damage) || item.predicted_damage < 0 || !(item.cost > 0) || std::isinf(item.cost)) {
      throw Error(ErrorKind::Internal, fmt::format("search item {} has predicted damage {} and cost {}: damage must be "
                                                   "at least 0 and cost above 0 and finite",
                                                   i, item.predicted_damage, item.cost));
    }
    if (item.needs == kNoItem) continue;
    if (item.needs >= i || !needed.insert(item.needs).second) {
      throw Error(ErrorKind::Internal, fmt::format("search item {} needs item {}", i, item.needs));
    }
  }
}

Certificate collect_certificate(const Costs& costs, const Passing& best, const TrialLog& log) {
  Certificate certificate;
  for (const std::size_t i : best.kept) {
    if (std::ranges::any_of(best.kept, [&](std::size_t other) { return costs.items[other].needs == i; })) {
      certificate.needed_below.push_back(i);
      continue;
    }
    if (costs.saved_by(best.kept, i) <= 0) {
      certificate.not_cheaper.push_back(i);
      continue;
    }
    const Trial* trial = log.recorded(without(best.kept, std::array{i}));
    if (trial && !passes(*trial)) certificate.needed.push_back({i, *trial});
  }
  const std::size_t accounted =
      certificate.needed.size() + certificate.not_cheaper.size() + certificate.needed_below.size();
  certificate.complete = passes(best.trial) && accounted == best.kept.size();
  return certificate;
}

/// Predictions against the tests of the certificate, where those ran to their end.
void watch_ranking(std::span<const SearchItem> items, MinimalResult& result) {
  std::vector<double> predicted;
  std::vector<double> measured;
  for (const Certificate::Needed& needed : result.certificate.needed) {
    if (!has_exact_damage(needed.trial)) continue;
    predicted.push_back(items[needed.item].predicted_damage);
    measured.push_back(needed.trial.damage);
  }
  result.rank_correlation = rank_correlation(predicted, measured);
  result.ranked = predicted.size();
}

/// Everything that only the end of the search knows.
MinimalResult conclude(SearchEnd end, const Costs& costs, const Passing& best, TrialLog& log, MinimalResult result) {
  result.end = end;
  result.kept = best.kept;
  result.final_trial = best.trial;
  result.cost = costs.of(best.kept);
  if (passes(best.trial)) result.certificate = collect_certificate(costs, best, log);
  if (result.ranked == 0) watch_ranking(costs.items, result);
  conclude_trials(log, result);
  return result;
}

/// Drops what can be dropped, until nothing can.
Passing settle(const std::vector<SearchItem>& items, const Costs& costs, Passing best, TrialLog& log) {
  Learned learned(items.size(), std::numeric_limits<double>::quiet_NaN());
  for (double before = kInfinity; costs.of(best.kept) < before && !log.stopped();) {
    best = trim(items, costs, best, log, learned);
    before = costs.of(best.kept);
    best = certify(items, costs, best, log, learned);
    if (costs.of(best.kept) == before) best = regroup(items, costs, best, log, learned);
  }
  return best;
}

/// Far inside the limit, and keeping something made the network worse than keeping nothing: errors cancel each other,
/// so that the set may be an island, and a smaller one lie elsewhere. For a set of which nothing can be dropped.
bool is_island(const Passing& best, const Trial& all_low, const TrialLog& log) {
  if (!passes(best.trial) || !(best.trial.damage < kFarInside)) return false;
  bool cancels = false;
  log.for_each([&](const KeptSet&, const Trial& trial) {
    cancels = cancels || (trial.verdict == Verdict::Bad && trial.damage > kMuchWorse * all_low.damage);
  });
  return cancels;
}

/// Where everything high is worse than everything low, a part of it may still pass: what must be kept, then half of the
/// ranking, a quarter, ... down to one item.
std::optional<Passing> some_of_worse_high(const std::vector<SearchItem>& items, TrialLog& log,
                                          const MinimalResult& ends) {
  if (!(ends.all_high.damage > ends.all_low.damage)) return std::nullopt;
  const Ranking ranking = rank(items);
  const auto tried = [&](std::size_t length) -> std::optional<Passing> {
    const KeptSet kept = prefix(ranking, length);
    const Trial* const trial = log.ask(kept);
    return trial && passes(*trial) ? std::optional(Passing{kept, *trial}) : std::nullopt;
  };
  if (ranking.mandatory > 0) {
    if (auto found = tried(ranking.mandatory)) return found;
  }
  for (std::size_t length = items.size() / 2; length > 0 && !log.stopped(); length /= 2) {
    if (auto found = tried(length)) return found;
  }
  return std::nullopt;
}

/// From nothing to a set of which nothing can be dropped.
Found search_from(const std::vector<SearchItem>& ranked, std::span<const Border> borders, TrialLog& log,
                  const MinimalOptions& options, MinimalResult& result) {
  Found found = guess(ranked, log, options, result);
  for (std::size_t before = found.passing.kept.size() + 1;
       options.estimate && passes(found.passing.trial) && found.passing.kept.size() < before;) {
    before = found.passing.kept.size();
    found = refine(found, borders, log, options, result);
  }
  found.passing = settle(found.items, Costs{found.items, borders}, found.passing, log);
  return found;
}

/// Where other costs lead.
Passing search_elsewhere(const std::vector<SearchItem>& items, const OtherCosts& other, TrialLog& log,
                         const MinimalOptions& options, const MinimalResult& known) {
  std::vector<SearchItem> others = items;
  for (std::size_t i = 0; i < items.size(); ++i) others[i].cost = other.items.at(i);
  MinimalOptions again = options;
  again.rerank = {};     // is done once
  MinimalResult unsaid;  // its notes are about the same ranking
  unsaid.all_high = known.all_high;
  unsaid.all_low = known.all_low;
  return search_from(others, other.borders, log, again, unsaid).passing;
}

/// Items that need each other as one: what is found between the ends of a ladder alone, as with two formats.
class WholeChains {
 public:
  explicit WholeChains(const std::vector<SearchItem>& items) {
    std::vector<std::size_t> chain_of(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      const bool begins = items[i].needs == kNoItem;
      chain_of[i] = begins ? chains_.size() : chain_of[items[i].needs];
      if (begins) chains_.emplace_back(), items_.push_back({0, 0});
      chains_[chain_of[i]].push_back(i);
      items_[chain_of[i]].predicted_damage += items[i].predicted_damage;
      items_[chain_of[i]].cost += items[i].cost;
    }
  }

  bool are_single_items() const {
    return std::ranges::all_of(chains_, [](const KeptSet& chain) { return chain.size() == 1; });
  }

  /// Asks `log` of the same sets. What it says of borders is left out: a ladder has none.
  Passing search(TrialLog& log, const MinimalOptions& options, const MinimalResult& known) const {
    const Oracle oracle = [&](const KeptSet& kept) {
      const Trial* const trial = log.ask(of(kept));
      if (trial == nullptr) throw Error(ErrorKind::Interrupted, "the search was stopped");
      return *trial;
    };
    MinimalOptions own;
    own.stop = options.stop;
    if (options.estimate) own.estimate = [&](const KeptSet& kept) { return options.estimate(of(kept)); };
    if (options.estimates_ahead) own.estimates_ahead = [&](const auto& sets) { options.estimates_ahead(of(sets)); };
    if (options.trials_ahead) own.trials_ahead = [&](const auto& sets) { options.trials_ahead(of(sets)); };
    TrialLog asked(oracle, own);
    MinimalResult unsaid;
    unsaid.all_high = known.all_high;
    unsaid.all_low = known.all_low;
    const Passing found = search_from(items_, {}, asked, own, unsaid).passing;
    return {of(found.kept), found.trial};
  }

 private:
  KeptSet of(const KeptSet& kept) const {
    KeptSet all;
    for (const std::size_t chain : kept) all.insert(all.end(), chains_[chain].begin(), chains_[chain].end());
    std::ranges::sort(all);
    return all;
  }
  std::vector<KeptSet> of(const std::vector<KeptSet>& sets) const {
    std::vector<KeptSet> all;
    for (const KeptSet& kept : sets) all.push_back(of(kept));
    return all;
  }

  std::vector<KeptSet> chains_;
  std::vector<SearchItem> items_;
};

MinimalResult search(const std::vector<SearchItem>& items, const Oracle& oracle, const MinimalOptions& options) {
  TrialLog log(oracle, options);
  MinimalResult result;
  result.items = items;

  KeptSet all(items.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  const Trial* all_high = log.ask(all);
  const Trial* all_low = log.ask({});
  if (all_high) result.all_high = *all_high;
  if (all_low) result.all_low = *all_low;
  const Costs costs{items, options.borders};
  if (all_low && passes(*all_low)) return conclude(SearchEnd::NothingNeeded, costs, {{}, *all_low}, log, result);
  const Trial* const start = options.start ? log.ask(*options.start) : nullptr;
  const bool starts = start != nullptr && passes(*start);
  if (all_high && !passes(*all_high) && !starts) {
    const std::optional<Passing> some = some_of_worse_high(items, log, result);
    if (!some) return conclude(SearchEnd::Impossible, costs, {all, *all_high}, log, result);
    const Passing best = settle(items, costs, *some, log);
    const bool complete = collect_certificate(costs, best, log).complete;
    return conclude(complete ? SearchEnd::Certified : SearchEnd::Stopped, costs, best, log, result);
  }
  if (!all_high || !all_low) return conclude(SearchEnd::Stopped, costs, {all, result.all_high}, log, result);

  if (const std::size_t mandatory = rank(items).mandatory; mandatory > 0) {
    result.notes.push_back({"kept-from-the-start", {{"count", mandatory}}});
  }
  Found found = starts ? Found{settle(items, costs, {*options.start, *start}, log), items}
                       : search_from(items, options.borders, log, options, result);
  Passing best = std::move(found.passing);
  const std::vector<SearchItem>& known = found.items;
  for (const OtherCosts& other : starts ? std::vector<OtherCosts>() : options.other_costs) {
    const Passing elsewhere = search_elsewhere(known, other, log, options, result);
    if (costs.of(elsewhere.kept) < costs.of(best.kept)) best = settle(known, costs, elsewhere, log);
  }
  if (const WholeChains chains(known); !starts && !chains.are_single_items() && !log.stopped()) {
    const Passing whole = chains.search(log, options, result);
    if (passes(whole.trial) && costs.of(whole.kept) < costs.of(best.kept)) best = settle(known, costs, whole, log);
  }
  const auto settle_again = [&] { best = settle(known, costs, best, log); };
  // Borders may cost more than everything that is low between them saves.
  if (costs.of(all) <= costs.of(best.kept) && best.kept.size() < all.size()) {
    result.notes.push_back({"everything-costs-no-more", {{"cost", costs.of(all)}, {"found", costs.of(best.kept)}}});
    best = {all, result.all_high};
    settle_again();  // what the borders do not pay for may still be dropped
  }
  if (options.exchange) {
    for (double before = kInfinity; costs.of(best.kept) < before && !log.stopped();) {
      before = costs.of(best.kept);
      best = exchange(known, costs, best, log);
      settle_again();
    }
  }
  if (options.prove_minimum || is_island(best, result.all_low, log)) {
    // A cheaper set that the proof stumbles on is trimmed and certified in its turn.
    for (bool open = true; open && !log.stopped() && !log.contradiction();) {
      const MinimumProof proof = prove_minimum(known, options.borders, best.kept, log);
      if (options.prove_minimum) result.lower_bound = proof.lower_bound;
      open = proof.cheaper.has_value();
      if (open) best = {*proof.cheaper, *log.recorded(*proof.cheaper)};
      settle_again();
    }
    if (log.contradiction()) result.lower_bound.reset();
  }
  result.items = known;
  const bool complete = collect_certificate(costs, best, log).complete;
  return conclude(complete ? SearchEnd::Certified : SearchEnd::Stopped, costs, best, log, result);
}

}  // namespace

MinimalResult search_minimal(const std::vector<SearchItem>& items, const Oracle& oracle,
                             const MinimalOptions& options) {
  validate(items);
  std::vector<RecordedTrial> trials;
  const Oracle recorded = [&](const KeptSet& kept) {
    trials.push_back({kept, oracle(kept)});
    return trials.back().trial;
  };
  MinimalResult result = search(items, recorded, options);
  if (result.end != SearchEnd::Certified) return result;
  // Nothing is called proven that a second look at the trials does not prove.
  const CertificateCheck check =
      check_certificate(items.size(), result.kept, result.certificate, trials, items, options.borders);
  if (check.valid()) return result;
  result.make_unstable();
  result.notes.push_back({"certificate-faulty", {{"fault", check.faults.front()}}});
  return result;
}

}  // namespace vernier
