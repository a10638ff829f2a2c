// The `minimal` search: a small set of items to keep in high precision, and a certificate that none can be dropped.
// Rank -> guided prefix -> refine by estimates -> trim -> certify.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "search/cost.h"
#include "search/oracle.h"
#include "vernier/note.h"
#include "vernier/verdict.h"

namespace vernier {

/// What sets cost in a unit that does not count, but leads to other sets.
struct OtherCosts {
  std::vector<double> items;  // > 0, one an item
  std::vector<Border> borders;
};

struct MinimalOptions {
  /// Stop after this many oracle calls and return the best set so far (0: no limit).
  std::size_t max_trials = 0;
  /// A cheap guess of Trial::damage from a part of the samples. Chooses what to test next, never decides: each verdict
  /// comes from the oracle. Not counted as a trial. Empty: the search does without.
  std::function<double(const KeptSet&)> estimate = {};
  /// Told which sets `estimate`, and the oracle, will probably be asked next, in this order: whoever answers may work
  /// on several at once. They are asked one at a time all the same, and not all of them. Empty: nobody wants to know.
  std::function<void(std::vector<KeptSet>)> estimates_ahead = {};
  std::function<void(std::vector<KeptSet>)> trials_ahead = {};
  /// What conversions at the borders of a kept set cost. Empty: nothing.
  std::vector<Border> borders = {};
  /// Other things that a set may cost. The search also goes where each of them leads, and from there on by the cost
  /// that counts: its answer is never dearer than what a search by one of these finds. Empty: one start.
  std::vector<OtherCosts> other_costs = {};
  /// Predicted damages of all items, measured again with more effort. Called once a round at most: when what is
  /// measured is far from what was predicted, or keeping nothing passed and was not confirmed (confirmed.h). Empty: the
  /// search lives with its ranking.
  std::function<std::vector<double>()> rerank = {};
  /// What was confirmed may use so many times the allowance that the oracle said, and still be searched again
  /// (confirmed.h).
  double most_apart = 1.5;  // 1.8 dB; flipped quantization steps of few samples were seen to give 0.8 dB
  /// A set that passes: items are dropped from it, and no other is looked for. Empty: none is known.
  std::optional<KeptSet> start = {};
  /// Once nothing can be dropped: also try to keep other items instead (exchange.h).
  bool exchange = false;
  /// After the certificate: look for a cheaper set, or for the proof that there is none (minimum.h).
  bool prove_minimum = false;
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
  /// Kept items whose drop would not make the set cheaper, because of its borders: they need no test.
  std::vector<std::size_t> not_cheaper = {};
  /// Kept items that another kept one needs: that one is dropped before them.
  std::vector<std::size_t> needed_below = {};
  bool complete = false;  // every kept item is in one of the three, and the kept set has its passing test
};

struct MinimalResult {
  std::vector<SearchItem> items;  // those of the search, with the predictions that it ended with
  SearchEnd end = SearchEnd::Impossible;
  KeptSet kept;
  Trial all_high;
  Trial all_low;
  Trial final_trial;  // of `kept`
  Certificate certificate;
  std::size_t trials = 0;       // oracle calls, the two ends included
  bool non_monotone = false;    // a superset of a passing set failed
  double prediction_ratio = 0;  // measured / predicted damage at the last guided test: ranking quality, 1 is perfect
  /// Spearman's rank correlation of predicted damages with what was measured near the limit, over `ranked` kept items:
  /// by estimates, or by the certificate's tests where they ran to their end. Absent: too few were.
  std::optional<double> rank_correlation;
  std::size_t ranked = 0;
  bool ranking_mended = false;  // the predictions were poor and were replaced on the way
  double cost = 0;              // of `kept`, borders included
  /// No passing set costs less, if the oracle is monotone. Absent: not asked for, or nothing is known.
  std::optional<double> lower_bound;
  std::vector<Note> notes;           // what was observed, in words
  std::vector<std::string> assumed;  // what the answer rests on without having been tested
  std::vector<std::string> proven;   // what was tested

  /// A test had two answers: none of them proves anything.
  void make_unstable() {
    end = SearchEnd::Unstable;
    certificate.complete = false;
  }
};

/// Finds a 1-minimal kept set: it passes, and fails without any single one of its items. Not the smallest such set: its
/// size depends on the ranking (diffuse damage, predictions off by a factor of e: about 1.4 times the smallest).
///
/// Calls:  both ends, |kept| + 1 for the proof, log2 of the prefix error, and repeats of what late removals undo.
///         On toy networks (bench/search_toys.cpp) |kept| + 2 beyond the ends when few items break the limit.
///         A set is asked twice only after a contradiction, to tell a flaky oracle from one that is not monotone.
/// Edges:  Invalid, TimedOut and Unstable count as failed. Damages may be NaN, bounds or +inf: the search then goes by
///         verdicts alone, in more calls. No items: one call decides between NothingNeeded and Impossible.
///         Everything high fails: NothingNeeded if nothing kept passes. Where everything low does less damage, a few
///         prefixes of the ranking are asked, and one that passes is trimmed and certified; else Impossible.
///         Stopped before anything was asked: all items, with an Invalid final trial.
///         Each of other_costs adds a search of its own; what it asks again is remembered. So do items that need
///         others: one between the ends of each chain, so that its answer is never dearer than that one's.
/// With borders a set is minimal when no drop of one item both passes and makes it cheaper. An item that another kept
/// one needs is not dropped before it.
/// Errors: Internal if a predicted damage is NaN or negative, or a cost is not positive and finite. What the oracle
///         throws passes through.
/// Source: guided prefix and trimming after Zeller & Hildebrandt 2002 (ddmin) and Junker 2004 (QuickXplain).
MinimalResult search_minimal(const std::vector<SearchItem>& items, const Oracle& oracle, const MinimalOptions& options);

}  // namespace vernier
