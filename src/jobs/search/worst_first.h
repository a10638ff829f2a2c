// The order of the worst-first search.
#pragma once

#include <cstddef>
#include <vector>

#include "jobs/search/evidence.h"
#include "jobs/search/experiment.h"

namespace vernier {

/// Candidates whose noise rises most over that of their inputs first, by graph edges: layers that were not compared
/// pass on what they read. The rise is a difference of relative noise powers with everything low, so exact inputs are
/// nothing special. `evidence` needs only what was propagated.
std::vector<std::size_t> worst_first(const Experiment& experiment, const Evidence& evidence);

}  // namespace vernier
