// Everything a search asked and was told: each set once, within the caller's budget, watched for contradictions.
// A search strategy talks to the oracle only through this.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "search/minimal.h"
#include "search/oracle.h"

namespace vernier {

/// Undecided counts as failed: only Good passes.
inline bool passes(const Trial& trial) { return trial.verdict == Verdict::Good; }

/// The damage is a number that was measured to the end, not a bound, an overflow or a missing value.
bool has_exact_damage(const Trial& trial);

/// Damage up to which sensitivities of single layers were seen to add up.
inline constexpr double kStillAdditive = 30;

/// `set` less the items of `dropped` (both ascending), ascending.
KeptSet without(const KeptSet& set, std::span<const std::size_t> dropped);

class TrialLog {
 public:
  /// Both references must outlive the log.
  TrialLog(const Oracle& oracle, const MinimalOptions& options) : oracle_(oracle), options_(options) {}

  /// The oracle's answer, from memory if `kept` was asked before. Null when the budget is spent or the caller stopped:
  /// from then on nothing new is asked. The answer lives as long as the log.
  const Trial* ask(const KeptSet& kept);
  /// Sets that will probably be asked next, in this order, for whoever answers (MinimalOptions::trials_ahead).
  void expect(const std::vector<KeptSet>& sets) const;
  /// Asks again although the answer is known, to unmask a flaky oracle. The first answer stays on record.
  std::optional<Trial> repeat(const KeptSet& kept);
  /// What was answered for exactly this set, or null.
  const Trial* recorded(const KeptSet& kept) const;

  /// Every set with its first answer.
  void for_each(const std::function<void(const KeptSet&, const Trial&)>& visit) const {
    for (const auto& [kept, trial] : answers_) visit(kept, trial);
  }

  std::size_t calls() const { return calls_; }
  bool stopped() const { return stopped_; }
  /// The caller wants an end; asked while a search thinks.
  bool told_to_stop() const { return stopped_ || (options_.stop && options_.stop()); }
  /// The first failing set found that holds a passing one, if any: the oracle is not monotone, or it is flaky.
  const std::optional<KeptSet>& contradiction() const { return contradiction_; }
  /// How many answers had this verdict.
  std::size_t count(Verdict verdict) const;

 private:
  std::optional<Trial> call(const KeptSet& kept);
  void watch_for_contradiction(const KeptSet& kept, const Trial& trial);

  const Oracle& oracle_;
  const MinimalOptions& options_;
  std::map<KeptSet, Trial> answers_;  // a map: references to answers stay valid
  std::size_t calls_ = 0;
  bool stopped_ = false;
  std::optional<KeptSet> contradiction_;
};

}  // namespace vernier
