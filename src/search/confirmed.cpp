#include "search/confirmed.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "search/cost.h"
#include "search/trials.h"
#include "vernier/error.h"

namespace vernier {
namespace {

/// As many tests in a row fail below the cheapest set when a search has gone over to certify it: the judge is asked
/// before the rest of them, not after.
constexpr std::size_t kFailedInARow = 3;

/// Farther apart, it is a fault of one of them.
bool differ_by_noise(const Trial& oracle, const Trial& judge, const MinimalOptions& options) {
  return !(judge.damage > options.most_apart * oracle.damage);
}

/// The oracle, with its answers of an earlier search, and from the second search on with the judge.
class Searches {
 public:
  Searches(const Search& search, const Oracle& oracle, const JudgePassing& judge, const MinimalOptions& options)
      : search_(search), oracle_(oracle), judge_(judge), options_(options) {}

  /// Ends early, with refused(), where the judge refuses what the search began to certify.
  MinimalResult first(const std::vector<SearchItem>& items) {
    MinimalResult result = search(items, [&](const KeptSet& kept) { return ask(items, kept); });
    if (!refused()) return result;
    result.end = SearchEnd::Stopped;
    result.kept = about_->kept;
    result.final_trial = about_->trial;
    result.cost = about_->cost;
    result.certificate = {};
    return result;
  }

  /// The judge's trial of the set that first() ended with.
  const Trial* refused() const { return refused_ ? &judged_.at(about_->kept) : nullptr; }

  /// Behind first() that ended early: as it would have gone on.
  MinimalResult whole(const std::vector<SearchItem>& items) {
    refused_ = false;
    start_.reset();
    return search(items, [this](const KeptSet& kept) { return ask_oracle(kept); });
  }

  /// Behind first(), of whose result the judge says `refused`.
  MinimalResult second(const std::vector<SearchItem>& items, const KeptSet& kept, const Trial& refused) {
    refused_ = false;
    earlier_ = std::exchange(answers_, {});
    judged_[kept] = refused;
    start_ = cheapest_of_both(items);
    MinimalResult result = search(items, [&](const KeptSet& set) { return ask_both(set, items.size()); });
    if (result.end == SearchEnd::Stopped) take_best_known(result);
    return result;
  }

 private:
  MinimalResult search(const std::vector<SearchItem>& items, const Oracle& oracle) {
    MinimalOptions own = options_;
    own.max_trials = 0;  // recalled answers are free: the budget is watched here
    own.stop = [this] {
      return refused_ || (options_.max_trials != 0 && calls_ >= options_.max_trials) ||
             (options_.stop && options_.stop());
    };
    own.on_trial = {};
    own.start = start_;
    MinimalResult result = search_(items, oracle, own);
    result.trials = calls_;
    return result;
  }

  Trial ask(const std::vector<SearchItem>& items, const KeptSet& kept) {
    const Trial trial = ask_oracle(kept);
    const double cost = cost_of(items, options_.borders, kept);
    if (passes(trial) && kept.size() < items.size() && (!about_ || cost < about_->cost)) {
      about_ = {kept, trial, cost};
      failed_ = 0;
    } else if (about_ && !passes(trial) && ++failed_ == kFailedInARow) {
      const Trial& there = judged_[about_->kept] = judge_(about_->kept, about_->trial);
      refused_ = there.verdict == Verdict::Bad && differ_by_noise(about_->trial, there, options_);
    }
    return trial;
  }

  Trial ask_oracle(const KeptSet& kept) {
    const auto known = earlier_.find(kept);
    return answers_[kept] = known != earlier_.end() ? known->second : told(kept, oracle_(kept));
  }

  Trial ask_both(const KeptSet& kept, std::size_t all) {
    const auto [known, is_new] = earlier_.try_emplace(kept);
    if (is_new) known->second = oracle_(kept);
    Trial trial = known->second;
    // From a start that both pass, everything kept is no answer.
    if (passes(trial) && !(start_ && kept.size() == all)) {
      if (!judged_.contains(kept)) judged_[kept] = judge_(kept, trial);
      trial = judged_.at(kept);
    }
    return answers_[kept] = is_new ? told(kept, trial) : trial;
  }

  /// Of the sets that passed in the earlier search, but the one with everything kept. nullopt: the judge passes none.
  std::optional<KeptSet> cheapest_of_both(const std::vector<SearchItem>& items) {
    std::multimap<double, const KeptSet*> by_cost;
    for (const auto& [kept, trial] : earlier_) {
      if (passes(trial) && kept.size() < items.size()) by_cost.emplace(cost_of(items, options_.borders, kept), &kept);
    }
    try {
      for (const auto& [cost, kept] : by_cost) {
        if (options_.stop && options_.stop()) break;
        if (passes(ask_both(*kept, items.size()))) return *kept;
      }
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::Interrupted) throw;  // the search ends by itself at its next step
    }
    return std::nullopt;
  }

  const Trial& told(const KeptSet& kept, const Trial& trial) {
    ++calls_;
    if (options_.on_trial) options_.on_trial(kept, trial);
    return trial;
  }

  /// A search that was cut short may know a cheaper set than it ends with.
  void take_best_known(MinimalResult& result) const {
    for (const auto& [kept, trial] : answers_) {
      if (!passes(trial)) continue;
      const double cost = cost_of(result.items, options_.borders, kept);
      if (passes(result.final_trial) && cost >= result.cost) continue;
      result.kept = kept;
      result.cost = cost;
      result.certificate = {};
      result.final_trial = trial;
    }
  }

  const Search& search_;
  const Oracle& oracle_;
  const JudgePassing& judge_;
  const MinimalOptions& options_;
  std::map<KeptSet, Trial> answers_, earlier_;  // of this search, of the oracle in the one before
  std::map<KeptSet, Trial> judged_;
  std::optional<KeptSet> start_;  // of the second search
  struct Cheapest {
    KeptSet kept;
    Trial trial;
    double cost = 0;
  };
  std::optional<Cheapest> about_;  // what the first search is about to certify
  std::size_t failed_ = 0;         // tests since then
  bool refused_ = false;           // it was, by the judge
  std::size_t calls_ = 0;
};

bool worth_confirming(const MinimalResult& result) {
  return passes(result.final_trial) && result.end != SearchEnd::Impossible;
}

/// What passed with nothing kept was perhaps not ranked.
std::vector<SearchItem> ranked_after_all(std::vector<SearchItem> items, const MinimalOptions& options) {
  const std::vector<double> predicted = options.rerank ? options.rerank() : std::vector<double>();
  if (predicted.size() != items.size()) return items;
  for (std::size_t i = 0; i < items.size(); ++i) items[i].predicted_damage = predicted[i];
  return items;
}

/// Notes of the first search, in front. What both say, the second one says best.
void add_earlier(const std::vector<Note>& earlier, std::vector<Note>& notes) {
  std::vector<Note> all;
  for (const std::vector<Note>* some : {&earlier, &std::as_const(notes)}) {
    for (const Note& note : *some) {
      const auto same = std::ranges::find(all, note.code, &Note::code);
      if (same != all.end()) *same = note;
      if (same == all.end()) all.push_back(note);
    }
  }
  notes = std::move(all);
}

Note not_confirmed_note(const MinimalResult& first, const Trial& refused) {
  Note note{"set-not-confirmed", {{"kept", first.kept.size()}}};
  if (std::isfinite(first.final_trial.damage) && std::isfinite(refused.damage)) {
    note.fields.emplace_back("claimed", first.final_trial.damage);
    note.fields.emplace_back("measured", refused.damage);
  }
  return note;
}

}  // namespace

MinimalResult search_confirmed(const Search& search, const std::vector<SearchItem>& items, const Oracle& oracle,
                               const Confirm& confirm, const JudgePassing& judge, const MinimalOptions& options) {
  Searches searches(search, oracle, judge, options);
  MinimalResult first = searches.first(items);
  if (!worth_confirming(first)) return first;
  const bool early = searches.refused() != nullptr;
  const Trial confirmed = early ? *searches.refused() : confirm(first);
  if (confirmed.verdict != Verdict::Bad || first.end == SearchEnd::Unstable ||
      !differ_by_noise(first.final_trial, confirmed, options)) {
    return first;
  }

  const bool ranked = first.end != SearchEnd::NothingNeeded;
  MinimalResult second =
      searches.second(ranked ? first.items : ranked_after_all(first.items, options), first.kept, confirmed);
  if (!worth_confirming(second)) {
    first.trials = second.trials;
    if (early && second.end == SearchEnd::Impossible) {
      MinimalResult whole = searches.whole(first.items);
      if (worth_confirming(whole)) first = std::move(whole);
    }
    if (early) confirm(first);
    if (second.end == SearchEnd::Impossible) first.notes.push_back({"nothing-confirmed", {}});
    return first;
  }
  add_earlier(first.notes, second.notes);
  second.notes.push_back(not_confirmed_note(first, confirmed));
  confirm(second);  // who confirms writes what it is asked about
  return second;
}

}  // namespace vernier
