#include "search/minimum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace vernier {
namespace {

// Rounds that bring no clause smaller than this share of all items say next to nothing: then more rounds will not help.
constexpr std::size_t kMostRounds = 200;

class Prover {
 public:
  Prover(std::span<const SearchItem> items, std::span<const Border> borders, const KeptSet& kept, TrialLog& log)
      : items_(items), borders_(borders), kept_(kept), cost_(cost_of(items, borders, kept)), log_(log) {
    all_.resize(items.size());
    std::iota(all_.begin(), all_.end(), std::size_t{0});
  }

  MinimumProof prove() {
    take_recorded();
    MinimumProof proof;
    if (!probe_monotony()) return {bound(), {}};
    // The items of the answer, each alone low: where that fails, the item is in every passing set.
    KeptSet order = kept_;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return damage(a) > damage(b); });
    for (const std::size_t item : order) {
      if (!grow(without(kept_, std::array{item}))) break;
      if (cheaper_) return {bound(), cheaper_};
    }
    for (std::size_t round = 0; round < kMostRounds && !done(); ++round) {
      const HittingSet hitting = cheapest_hitting_set(items_, borders_, clauses_);
      proof.lower_bound = std::max(proof.lower_bound, hitting.lower_bound);
      if (hitting.lower_bound >= cost_ - kSlack * cost_) break;
      const Trial* trial = log_.ask(hitting.set);
      if (!trial) break;
      if (passes(*trial)) {
        if (hitting.cost < cost_) proof.cheaper = hitting.set;
        break;  // not cheaper: the solver gave up before it could close the gap
      }
      if (trial->verdict != Verdict::Bad || !grow(hitting.set)) break;
      if (cheaper_) return {std::max(proof.lower_bound, bound()), cheaper_};
    }
    proof.lower_bound = std::min(cost_, std::max(proof.lower_bound, bound()));
    return proof;
  }

 private:
  double damage(std::size_t item) const { return items_[item].predicted_damage; }
  bool done() const { return log_.stopped() || log_.contradiction().has_value(); }
  double bound() const { return cheapest_hitting_set(items_, borders_, clauses_).lower_bound; }

  /// The claim rests on it: a set with much more than the answer must pass too. One call; the log sees a contradiction.
  bool probe_monotony() {
    const std::vector<std::size_t> outside = without(all_, kept_);
    if (outside.size() < 2) return true;
    const std::size_t least = *std::min_element(outside.begin(), outside.end(),
                                                [&](std::size_t a, std::size_t b) { return damage(a) < damage(b); });
    return log_.ask(without(all_, std::array{least})) != nullptr && !done();
  }

  void take_recorded() {
    log_.for_each([&](const KeptSet& set, const Trial& trial) {
      if (trial.verdict == Verdict::Bad) add(set);
    });
  }

  /// The clause of a failing set; those that it makes superfluous go.
  void add(const KeptSet& failing) {
    const Clause clause = without(all_, failing);
    if (clause.empty()) return;  // everything kept failed: then there was no search
    const auto within = [](const Clause& small, const Clause& large) {
      return std::includes(large.begin(), large.end(), small.begin(), small.end());
    };
    if (std::any_of(clauses_.begin(), clauses_.end(), [&](const Clause& known) { return within(known, clause); })) {
      return;
    }
    std::erase_if(clauses_, [&](const Clause& known) { return within(clause, known); });
    clauses_.push_back(clause);
  }

  /// Keeps more and more with `failing`, the least useful first, as long as it still fails. False: the log ended.
  bool grow(const KeptSet& failing) {
    std::vector<std::size_t> outside = without(all_, failing);
    std::stable_sort(outside.begin(), outside.end(),
                     [&](std::size_t a, std::size_t b) { return damage(a) < damage(b); });
    std::size_t fails = 0;
    std::size_t passing = outside.size();
    // All but the most useful one first: where it fails too, the clause is a single item.
    std::size_t count = outside.size() - 1;
    while (fails < count && count < passing) {
      KeptSet more = failing;
      more.insert(more.end(), outside.begin(), outside.begin() + static_cast<std::ptrdiff_t>(count));
      std::sort(more.begin(), more.end());
      const Trial* trial = log_.ask(more);
      if (!trial || done()) return false;
      if (passes(*trial)) {
        if (cost_of(items_, borders_, more) < cost_ - kSlack * cost_) {
          cheaper_ = more;
          return true;
        }
        passing = count;
      } else if (trial->verdict == Verdict::Bad) {
        fails = count;
        add(more);
      } else {
        return true;  // undecided is no evidence
      }
      count = passing - fails > 1 ? aim(outside, fails, passing) : fails;
    }
    return true;
  }

  /// Between two counts: where half of the predicted damage between them is left, for the sum over what stays low
  /// decides.
  std::size_t aim(const std::vector<std::size_t>& outside, std::size_t fails, std::size_t passing) const {
    double sum = 0;
    for (std::size_t k = fails; k < passing; ++k) sum += damage(outside[k]);
    double half = 0;
    for (std::size_t k = fails; k < passing; ++k) {
      half += damage(outside[k]);
      if (!(half < sum / 2) || !std::isfinite(sum)) return std::clamp(k, fails + 1, passing - 1);
    }
    return fails + (passing - fails) / 2;
  }

  static constexpr double kSlack = 1e-9;
  std::span<const SearchItem> items_;
  std::span<const Border> borders_;
  const KeptSet& kept_;
  double cost_;
  TrialLog& log_;
  KeptSet all_;
  std::vector<Clause> clauses_;
  std::optional<KeptSet> cheaper_;
};

}  // namespace

MinimumProof prove_minimum(std::span<const SearchItem> items, std::span<const Border> borders, const KeptSet& kept,
                           TrialLog& log) {
  return Prover(items, borders, kept, log).prove();
}

}  // namespace vernier
