// The small exact solver behind prove_minimum.
#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "search/minimum.h"
#include "vernier/error.h"

namespace vernier {
namespace {

enum class Choice : char { Open, Kept, Left };

class Solver {
 public:
  Solver(std::span<const SearchItem> items, std::span<const Border> borders, const std::vector<Clause>& clauses,
         std::size_t nodes)
      : items_(items), borders_(borders), clauses_(clauses), nodes_(nodes), choice_(items.size(), Choice::Open) {
    // Short clauses first: they bind most, and make the disjoint bound strong.
    std::stable_sort(clauses_.begin(), clauses_.end(),
                     [](const Clause& a, const Clause& b) { return a.size() < b.size(); });
  }

  HittingSet solve() {
    take_greedy();
    branch();
    best_.lower_bound = std::min(best_.cost, open_bound_);
    return best_;
  }

 private:
  /// A first answer, so that the bound prunes from the start: the cheapest item per clause that it hits.
  void take_greedy() {
    KeptSet set;
    std::vector<bool> hit(clauses_.size(), false);
    for (std::size_t c = 0; c < clauses_.size(); ++c) {
      if (hit[c]) continue;
      std::size_t pick = clauses_[c].front();
      double worth = -1;
      for (const std::size_t item : clauses_[c]) {
        double hits = 0;
        for (std::size_t other = c; other < clauses_.size(); ++other) {
          if (!hit[other] && std::binary_search(clauses_[other].begin(), clauses_[other].end(), item)) ++hits;
        }
        if (hits / items_[item].cost > worth) {
          worth = hits / items_[item].cost;
          pick = item;
        }
      }
      set.push_back(pick);
      for (std::size_t other = c; other < clauses_.size(); ++other) {
        if (std::binary_search(clauses_[other].begin(), clauses_[other].end(), pick)) hit[other] = true;
      }
    }
    std::sort(set.begin(), set.end());
    best_ = {set, cost_of(items_, borders_, set), 0};
  }

  bool is_hit(const Clause& clause) const {
    return std::any_of(clause.begin(), clause.end(), [&](std::size_t i) { return choice_[i] == Choice::Kept; });
  }

  /// What is chosen, borders that are surely paid, and the cheapest item of each unhit clause that shares none with
  /// another one counted.
  double bound() const {
    double sum = 0;
    for (std::size_t i = 0; i < items_.size(); ++i) sum += choice_[i] == Choice::Kept ? items_[i].cost : 0;
    for (const Border& border : borders_) {
      bool kept = false;
      bool left = false;
      for (const std::size_t i : border.items) {
        kept = kept || choice_[i] == Choice::Kept;
        left = left || choice_[i] == Choice::Left;
      }
      if (kept && left) sum += border.cost;
    }
    std::vector<bool> used(items_.size(), false);
    for (const Clause& clause : clauses_) {
      if (is_hit(clause)) continue;
      double least = std::numeric_limits<double>::infinity();
      bool disjoint = true;
      for (const std::size_t i : clause) {
        if (choice_[i] != Choice::Open) continue;
        disjoint = disjoint && !used[i];
        least = std::min(least, items_[i].cost);
      }
      if (!disjoint) continue;
      sum += least;  // infinite when all its items were left out: a dead end
      for (const std::size_t i : clause) used[i] = true;
    }
    return sum;
  }

  const Clause* unhit() const {
    const auto found = std::find_if(clauses_.begin(), clauses_.end(), [&](const Clause& c) { return !is_hit(c); });
    return found == clauses_.end() ? nullptr : &*found;
  }

  /// With all clauses hit, an open item at a border of a kept one may still make the set cheaper.
  std::vector<std::size_t> beside_kept() const {
    for (const Border& border : borders_) {
      const auto is = [&](Choice wanted) { return [this, wanted](std::size_t i) { return choice_[i] == wanted; }; };
      if (std::any_of(border.items.begin(), border.items.end(), is(Choice::Left)) ||
          std::none_of(border.items.begin(), border.items.end(), is(Choice::Kept))) {
        continue;
      }
      const auto open = std::find_if(border.items.begin(), border.items.end(), is(Choice::Open));
      if (open != border.items.end()) return {*open};
    }
    return {};
  }

  void take_if_better() {
    KeptSet set;
    for (std::size_t i = 0; i < choice_.size(); ++i) {
      if (choice_[i] == Choice::Kept) set.push_back(i);
    }
    const double cost = cost_of(items_, borders_, set);
    if (cost < best_.cost) best_ = {set, cost, 0};
  }

  void branch() {
    const double least = bound();
    if (least >= best_.cost - kSlack * best_.cost) return;
    if (nodes_ == 0) {
      open_bound_ = std::min(open_bound_, least);
      return;
    }
    --nodes_;
    const Clause* clause = unhit();
    if (clause == nullptr) take_if_better();
    const std::vector<std::size_t> neighbour = clause == nullptr ? beside_kept() : std::vector<std::size_t>{};
    const std::vector<std::size_t>& open = clause == nullptr ? neighbour : *clause;
    // One branch for each item: this one kept, those before it left out. And, beside a border, none of them kept.
    std::vector<std::size_t> undo;
    for (const std::size_t item : open) {
      if (choice_[item] != Choice::Open) continue;
      choice_[item] = Choice::Kept;
      branch();
      choice_[item] = Choice::Left;
      undo.push_back(item);
    }
    if (clause == nullptr && !undo.empty()) branch();
    for (const std::size_t item : undo) choice_[item] = Choice::Open;
  }

  static constexpr double kSlack = 1e-12;
  std::span<const SearchItem> items_;
  std::span<const Border> borders_;
  std::vector<Clause> clauses_;
  std::size_t nodes_;
  std::vector<Choice> choice_;
  HittingSet best_;
  double open_bound_ = std::numeric_limits<double>::infinity();  // of what was given up
};

}  // namespace

HittingSet cheapest_hitting_set(std::span<const SearchItem> items, std::span<const Border> borders,
                                const std::vector<Clause>& clauses, std::size_t nodes) {
  if (std::any_of(clauses.begin(), clauses.end(), [](const Clause& clause) { return clause.empty(); })) {
    throw Error(ErrorKind::Internal, "a clause without items: everything kept has failed");
  }
  return Solver(items, borders, clauses, nodes).solve();
}

}  // namespace vernier
