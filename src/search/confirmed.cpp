#include "search/confirmed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "search/cost.h"
#include "search/trials.h"
#include "vernier/error.h"

namespace vernier {
namespace {

/// A ratio of damages moves with the set: a little more than it, so that rounds are few.
constexpr double kSpareRoom = 1.002;
constexpr double kFarApart = 1.3;

/// The oracle under a smaller allowance, with the answers of earlier rounds.
class Rounds {
 public:
  Rounds(const Oracle& oracle, const MinimalOptions& options) : oracle_(oracle), options_(options) {}

  MinimalResult search(const std::vector<SearchItem>& items, double room) {
    earlier_ = answers_;
    MinimalOptions round = options_;
    round.max_trials = 0;  // recalled answers are free: the budget is watched here
    round.stop = [&] { return spent() || (options_.stop && options_.stop()); };
    round.on_trial = {};
    const Oracle tightened = [&](const KeptSet& kept) {
      Trial trial = ask(kept);
      trial.damage *= room;
      if (passes(trial) && trial.damage > 1) trial.verdict = Verdict::Bad;
      return trial;
    };
    MinimalResult result = search_minimal(items, tightened, round);
    if (result.end == SearchEnd::Stopped) take_best_known(result.items, room, result);
    for (Trial* trial : {&result.all_high, &result.all_low, &result.final_trial}) trial->damage /= room;
    for (Certificate::Needed& needed : result.certificate.needed) needed.trial.damage /= room;
    result.trials = calls_;
    return result;
  }

  bool spent() const { return options_.max_trials != 0 && calls_ >= options_.max_trials; }

 private:
  /// A round that was cut short may know a cheaper set from the rounds before.
  void take_best_known(const std::vector<SearchItem>& items, double room, MinimalResult& result) const {
    for (const auto& [kept, trial] : answers_) {
      if (!passes(trial) || trial.damage * room > 1) continue;
      const double cost = cost_of(items, options_.borders, kept);
      if (passes(result.final_trial) && cost >= result.cost) continue;
      result.kept = kept;
      result.cost = cost;
      result.certificate = {};
      result.final_trial = trial;
      result.final_trial.damage *= room;
    }
  }

  Trial ask(const KeptSet& kept) {
    // Only of earlier rounds: within one, a set that is asked again is meant to be run again.
    if (const auto known = earlier_.find(kept); known != earlier_.end()) return known->second;
    const Trial trial = oracle_(kept);
    ++calls_;
    answers_[kept] = trial;
    if (options_.on_trial) options_.on_trial(kept, trial);
    return trial;
  }

  const Oracle& oracle_;
  const MinimalOptions& options_;
  std::map<KeptSet, Trial> answers_;
  std::map<KeptSet, Trial> earlier_;
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

/// Adds notes of earlier rounds. Each round says of its ranking what the last one says best.
void add_new(std::vector<Note>& notes, const std::vector<Note>& more) {
  const auto said = [&](const Note& note) {
    const bool of_ranking = note.code == "ranking-mended" || note.code == "ranking-poor";
    return std::ranges::any_of(
        notes, [&](const Note& known) { return known == note || (of_ranking && known.code == note.code); });
  };
  for (const Note& note : more) {
    if (!said(note)) notes.push_back(note);
  }
}

/// After a confirmed set whose room is far above the last one that was refused: single elements make the two judges
/// differ by another factor for every set, so the first factor may ask for much more than is needed. Halves the way
/// between the two, in logarithms, as long as rounds are left.
void loosen(ConfirmedResult& best, double refused, std::size_t round, const Confirm& confirm,
            const MinimalOptions& options, Rounds& rounds) {
  bool last_is_best = true;
  std::vector<SearchItem> items = best.minimal.items;
  for (; round < kConfirmRounds && best.room > kFarApart * refused && !rounds.spent(); ++round) {
    if (options.stop && options.stop()) break;
    const double room = std::sqrt(best.room * refused);
    MinimalResult looser = rounds.search(items, room);
    items = looser.items;
    best.minimal.trials = looser.trials;
    const bool cheaper = looser.end == SearchEnd::Certified && looser.cost < best.minimal.cost;
    last_is_best = last_is_best && !cheaper;
    if (cheaper && confirm(looser, room) <= 1) {
      add_new(looser.notes, best.minimal.notes);
      best = {std::move(looser), room};
      last_is_best = true;
    } else {
      refused = room;
    }
  }
  if (!last_is_best) confirm(best.minimal, best.room);  // who confirms writes what it is asked about
}

}  // namespace

ConfirmedResult search_confirmed(const std::vector<SearchItem>& items, const Oracle& oracle, const Confirm& confirm,
                                 const MinimalOptions& options) {
  Rounds rounds(oracle, options);
  ConfirmedResult best{rounds.search(items, 1), 1};
  std::vector<Note> notes;
  double refused = 0;
  for (std::size_t round = 1; worth_confirming(best.minimal); ++round) {
    const double claimed = best.minimal.final_trial.damage;
    const double measured = confirm(best.minimal, best.room);
    if (refused > 0 && measured <= 1) {
      loosen(best, refused, round, confirm, options, rounds);
      break;
    }
    const double room = kSpareRoom * measured / claimed;
    const bool repeatable = best.minimal.end == SearchEnd::Certified || best.minimal.end == SearchEnd::NothingNeeded;
    const bool noise = room > best.room && room <= options.most_room;  // false for NaN
    if (!(measured > 1) || !repeatable || !noise || round == kConfirmRounds || rounds.spent()) break;
    std::vector<SearchItem> ranked = best.minimal.items;
    if (best.minimal.end == SearchEnd::NothingNeeded) ranked = ranked_after_all(std::move(ranked), options);
    MinimalResult tighter = rounds.search(ranked, room);
    best.minimal.trials = tighter.trials;
    if (!worth_confirming(tighter)) break;
    notes.push_back(
        {"set-not-confirmed", {{"kept", best.minimal.kept.size()}, {"claimed", claimed}, {"measured", measured}}});
    refused = best.room;
    best = {std::move(tighter), room};
  }
  if (best.room > 1) {
    const bool proven = best.minimal.end == SearchEnd::Certified || best.minimal.end == SearchEnd::NothingNeeded;
    notes.push_back({"less-allowance", {{"certified", proven}, {"percent", 100 * (1 - 1 / best.room)}}});
  }
  add_new(best.minimal.notes, notes);
  return best;
}

}  // namespace vernier
