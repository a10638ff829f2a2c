// How far a certified set may be from the cheapest one, by implicit hitting sets: a set that fails says that every
// passing set holds something that it leaves out. The cheapest set that hits all these clauses costs no more than the
// cheapest passing set, and if it passes itself, it is that.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "search/cost.h"
#include "search/oracle.h"
#include "search/trials.h"

namespace vernier {

/// Of a set's items at least one must be kept.
using Clause = KeptSet;

struct HittingSet {
  KeptSet set;             // hits every clause
  double cost = 0;         // borders included
  double lower_bound = 0;  // no set that hits them all costs less; equal to `cost` when the search was complete
};

/// The cheapest set that hits all of `clauses`, borders counted, by branch and bound. Gives up refining after `nodes`
/// steps: the set is then the best one seen, and the bound still holds.
/// Edges: no clauses: nothing is kept. Errors: Internal for an empty clause: nothing can hit it.
/// Source: exact branching on a smallest clause; bound by disjoint clauses, as in MaxHS (Davies & Bacchus 2011).
HittingSet cheapest_hitting_set(std::span<const SearchItem> items, std::span<const Border> borders,
                                const std::vector<Clause>& clauses, std::size_t nodes = 200'000);

struct MinimumProof {
  double lower_bound = 0;          // on the cost of any passing set
  std::optional<KeptSet> cheaper;  // a passing set that costs less than `kept`: search on from there
};

/// Grows failing tests into clauses that say much, and asks for their cheapest hitting set, until it costs as much as
/// `kept` or the log ends. Failing tests that are on record are used first; only verdict Bad is evidence.
///
/// Assumes a monotone oracle: what fails, fails with less kept. One superset of the answer is asked to see whether that
/// holds; a contradiction ends the proof.
/// Calls: 1 + |kept| for the first clauses, about log2(items) more for each that must be grown; and one a round.
/// Source: Moreno-Centeno & Karp 2013.
MinimumProof prove_minimum(std::span<const SearchItem> items, std::span<const Border> borders, const KeptSet& kept,
                           TrialLog& log);

}  // namespace vernier
