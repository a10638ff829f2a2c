// The last steps of the minimal search, repeated until none of them makes the set cheaper: blocks dropped, every single
// item tested, and neighbours regrouped where borders cost something.
#pragma once

#include <vector>

#include "search/passing.h"
#include "search/trials.h"

namespace vernier {

/// Drops blocks from the least useful end: twice as many after a success, half after a failure, until nothing is
/// expected to fit.
Passing trim(const std::vector<SearchItem>& items, const Costs& costs, Passing best, TrialLog& log, Learned& learned);

/// Tests the drop of every kept item, those most likely to pass first, so that a removal makes few earlier tests stale.
/// Returns at the first one that passes; the set is unchanged when none did.
Passing certify(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best, TrialLog& log,
                Learned& learned);

/// What single drops cannot do: a neighbour kept too where that saves its borders, and a region dropped as a whole.
Passing regroup(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best, TrialLog& log,
                const Learned& learned);

}  // namespace vernier
