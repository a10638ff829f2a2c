// The end of every search: what the answers say about the oracle itself.
#pragma once

#include "search/minimal.h"
#include "search/trials.h"

namespace vernier {

/// Fills in how many answers there were, which were undecided, and what the result rests on. Where a set failed of
/// which a part had passed, both it and the result are asked again: verdicts that flip end the search as Unstable.
/// Calls: none, or two after a contradiction.
void conclude_trials(TrialLog& log, MinimalResult& result);

}  // namespace vernier
