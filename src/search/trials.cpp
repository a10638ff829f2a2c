#include "search/trials.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "vernier/error.h"

namespace vernier {

bool has_exact_damage(const Trial& trial) { return std::isfinite(trial.damage) && !trial.stopped_early; }

KeptSet without(const KeptSet& set, std::span<const std::size_t> dropped) {
  KeptSet rest;
  rest.reserve(set.size());
  std::set_difference(set.begin(), set.end(), dropped.begin(), dropped.end(), std::back_inserter(rest));
  return rest;
}

const Trial* TrialLog::ask(const KeptSet& kept) {
  if (const Trial* known = recorded(kept)) return known;
  const std::optional<Trial> trial = call(kept);
  if (!trial) return nullptr;
  watch_for_contradiction(kept, *trial);
  return &answers_.emplace(kept, *trial).first->second;
}

void TrialLog::expect(const std::vector<KeptSet>& sets) const {
  if (!options_.trials_ahead) return;
  std::vector<KeptSet> unknown;
  for (const KeptSet& kept : sets) {
    if (recorded(kept) == nullptr) unknown.push_back(kept);
  }
  options_.trials_ahead(std::move(unknown));
}

std::optional<Trial> TrialLog::repeat(const KeptSet& kept) { return call(kept); }

const Trial* TrialLog::recorded(const KeptSet& kept) const {
  const auto at = answers_.find(kept);
  return at == answers_.end() ? nullptr : &at->second;
}

std::size_t TrialLog::count(Verdict verdict) const {
  return static_cast<std::size_t>(std::count_if(
      answers_.begin(), answers_.end(), [verdict](const auto& answer) { return answer.second.verdict == verdict; }));
}

std::optional<Trial> TrialLog::call(const KeptSet& kept) {
  const bool spent = options_.max_trials != 0 && calls_ >= options_.max_trials;
  stopped_ = stopped_ || spent || (options_.stop && options_.stop());
  if (stopped_) return std::nullopt;
  Trial trial;
  try {
    trial = oracle_(kept);
  } catch (const Error& error) {
    // Cut off in the middle: no answer, least of all a failure that a certificate could rest on.
    if (error.kind() != ErrorKind::Interrupted) throw;
    stopped_ = true;
    return std::nullopt;
  }
  ++calls_;
  if (options_.on_trial) options_.on_trial(kept, trial);
  return trial;
}

void TrialLog::watch_for_contradiction(const KeptSet& kept, const Trial& trial) {
  if (contradiction_) return;
  for (const auto& [other, answer] : answers_) {
    if (passes(answer) == passes(trial)) continue;
    const KeptSet& failing = passes(trial) ? other : kept;
    const KeptSet& passing = passes(trial) ? kept : other;
    if (std::includes(failing.begin(), failing.end(), passing.begin(), passing.end())) {
      contradiction_ = failing;
      return;
    }
  }
}

}  // namespace vernier
