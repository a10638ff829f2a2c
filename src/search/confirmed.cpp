#include "search/confirmed.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "search/cost.h"
#include "search/trials.h"

namespace vernier {
namespace {

/// The oracle, with its answers of an earlier search, and from the second search on with the judge.
class Searches {
 public:
  Searches(const Search& search, const Oracle& oracle, const JudgePassing& judge, const MinimalOptions& options)
      : search_(search), oracle_(oracle), judge_(judge), options_(options) {}

  MinimalResult first(const std::vector<SearchItem>& items) {
    return search(items, [this](const KeptSet& kept) { return ask(kept); });
  }

  /// Behind first(). `refused` is what the judge said of its result.
  MinimalResult second(const std::vector<SearchItem>& items, const KeptSet& refused, double damage) {
    earlier_ = std::exchange(answers_, {});
    judged_[refused] = earlier_.at(refused);
    judged_[refused].verdict = Verdict::Bad;
    judged_[refused].damage = damage;
    MinimalResult result = search(items, [this](const KeptSet& kept) { return ask_both(kept); });
    if (result.end == SearchEnd::Stopped) take_best_known(result);
    return result;
  }

  bool spent() const { return options_.max_trials != 0 && calls_ >= options_.max_trials; }

 private:
  MinimalResult search(const std::vector<SearchItem>& items, const Oracle& oracle) {
    MinimalOptions own = options_;
    own.max_trials = 0;  // recalled answers are free: the budget is watched here
    own.stop = [&] { return spent() || (options_.stop && options_.stop()); };
    own.on_trial = {};
    MinimalResult result = search_(items, oracle, own);
    result.trials = calls_;
    return result;
  }

  Trial ask(const KeptSet& kept) {
    // Only of the earlier search: within one, a set that is asked again is meant to be run again.
    const auto known = earlier_.find(kept);
    return answers_[kept] = known != earlier_.end() ? known->second : told(kept, oracle_(kept));
  }

  Trial ask_both(const KeptSet& kept) {
    const bool is_known = earlier_.contains(kept);
    const Trial trial = is_known ? earlier_.at(kept) : oracle_(kept);
    const auto known = judged_.find(kept);
    if (known != judged_.end()) return answers_[kept] = known->second;
    const bool asks = passes(trial);
    if (asks) judged_[kept] = judge_(kept, trial);
    const Trial& both = asks ? judged_[kept] : trial;
    return answers_[kept] = is_known && !asks ? both : told(kept, both);
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

/// Notes of the first search, in front. Of its ranking the second one says best.
void add_earlier(const std::vector<Note>& earlier, std::vector<Note>& notes) {
  std::vector<Note> all;
  for (const Note& note : earlier) {
    const bool of_ranking = note.code == "ranking-mended" || note.code == "ranking-poor";
    const bool again = std::ranges::any_of(
        notes, [&](const Note& known) { return known == note || (of_ranking && known.code == note.code); });
    if (!again) all.push_back(note);
  }
  notes.insert(notes.begin(), all.begin(), all.end());
}

}  // namespace

MinimalResult search_confirmed(const Search& search, const std::vector<SearchItem>& items, const Oracle& oracle,
                               const Confirm& confirm, const JudgePassing& judge, const MinimalOptions& options) {
  Searches searches(search, oracle, judge, options);
  MinimalResult first = searches.first(items);
  if (!worth_confirming(first)) return first;
  const double claimed = first.final_trial.damage;
  const double measured = confirm(first);
  const bool repeatable =
      first.end == SearchEnd::Certified || first.end == SearchEnd::NothingNeeded || first.end == SearchEnd::Found;
  const bool noise = !(measured > options.most_apart * claimed);  // true where anything is
  if (!(measured > 1) || !repeatable || !noise || searches.spent()) return first;

  const bool ranked = first.end != SearchEnd::NothingNeeded;
  MinimalResult second =
      searches.second(ranked ? first.items : ranked_after_all(first.items, options), first.kept, measured);
  if (!worth_confirming(second)) {
    first.trials = second.trials;
    if (second.end == SearchEnd::Impossible) first.notes.push_back({"nothing-confirmed", {}});
    return first;
  }
  add_earlier(first.notes, second.notes);
  second.notes.push_back(
      {"set-not-confirmed", {{"kept", first.kept.size()}, {"claimed", claimed}, {"measured", measured}}});
  confirm(second);  // who confirms writes what it is asked about
  return second;
}

}  // namespace vernier
