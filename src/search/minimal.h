// The `minimal` search: a small set of items to keep in high precision, and a certificate that none can be dropped.
// Rank -> guided prefix -> refine by estimates -> trim -> certify.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "search/oracle.h"

namespace vernier {

/// One switchable unit.
struct SearchItem {
  /// Predicted damage of running only this item low, in the unit of Trial::damage (any positive factor is fine: it is
  /// rescaled by what is measured). +inf: must be kept.
  double predicted_damage = 0;
  /// Cost of keeping it high, > 0 (1 per layer, or multiply-accumulates).
  double cost = 1;
};

struct MinimalOptions {
  /// Stop after this many oracle calls and return the best set so far (0: no limit).
  std::size_t max_trials = 0;
  /// A cheap guess of Trial::damage from a part of the samples. Chooses what to test next, never decides: each verdict
  /// comes from the oracle. Not counted as a trial. Empty: the search does without.
  std::function<double(const KeptSet&)> estimate = {};
  /// Polled between trials: true stops the search with the best set so far (Ctrl-C).
  std::function<bool()> stop = {};
  /// Called after each oracle call with the set and the answer: progress and journal.
  std::function<void(const KeptSet&, const Trial&)> on_trial = {};
};

/// Evidence that `kept` is 1-minimal: dropping any single item fails. No monotonicity is assumed: each set was tested.
struct Certificate {
  /// For each kept item, the failing test of kept minus that item.
  struct Needed {
    std::size_t item = 0;
    Trial trial;
  };
  std::vector<Needed> needed;
  bool complete = false;  // every kept item has its failing test, and the kept set its passing one
};

enum class SearchEnd {
  Certified,      // a passing set with a complete certificate
  NothingNeeded,  // all low passes
  Impossible,     // all high fails: the metric, the data or the reference is the problem
  Stopped,        // budget or Ctrl-C: `kept` passes but is not proven minimal
  Unstable,       // the oracle contradicted itself
};

struct MinimalResult {
  SearchEnd end = SearchEnd::Impossible;
  KeptSet kept;
  Trial all_high;
  Trial all_low;
  Trial final_trial;  // of `kept`
  Certificate certificate;
  std::size_t trials = 0;          // oracle calls, the two ends included
  bool non_monotone = false;       // a superset of a passing set failed
  double prediction_ratio = 0;     // measured / predicted damage at the last guided test: ranking quality, 1 is perfect
  std::vector<std::string> notes;  // what was assumed and what was observed, in words
};

/// Finds a 1-minimal kept set: it passes, and fails without any single one of its items. Not the smallest such set: its
/// size depends on the ranking (diffuse damage, predictions off by a factor of e: about 1.4 times the smallest).
///
/// Calls:  both ends, |kept| + 1 for the proof, log2 of the prefix error, and repeats of what late removals undo.
///         On toy networks (bench/search_toys.cpp) |kept| + 2 beyond the ends when few items break the limit.
///         A set is asked twice only after a contradiction, to tell a flaky oracle from one that is not monotone.
/// Edges:  Invalid, TimedOut and Unstable count as failed. Damages may be NaN, bounds or +inf: the search then goes by
///         verdicts alone, in more calls. No items: one call decides between NothingNeeded and Impossible.
///         Stopped before anything was asked: all items, with an Invalid final trial.
/// Errors: Internal if a predicted damage is NaN or negative, or a cost is not positive and finite. What the oracle
///         throws passes through.
/// Source: guided prefix and trimming after Zeller & Hildebrandt 2002 (ddmin) and Junker 2004 (QuickXplain).
MinimalResult search_minimal(const std::vector<SearchItem>& items, const Oracle& oracle, const MinimalOptions& options);

}  // namespace vernier
