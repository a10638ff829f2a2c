// The searches that users of Polygraphy know: the first N items of a list are kept, and N is what is searched. The list
// is the graph's order, forward or reversed, or the items most worth keeping first (worst-first).
#pragma once

#include <cstddef>
#include <vector>

#include "search/minimal.h"
#include "search/oracle.h"

namespace vernier {

/// Halves. Asks for all of `order`, then N/2, then 3N/4 or N/4 ...: after a pass halfway down to the largest N that
/// failed, after a failure halfway up to the smallest that passed. Ends when the two are neighbours.
///
/// Calls:  log2(order) + 3 at most, both ends included: nothing kept is asked too, as a call of its own.
/// Edges:  needing all of them is an answer (Found, everything kept). All fail: Impossible. Nothing needed: that.
///         Contiguous by nature: the answer holds every item before the last one that is needed.
/// Source: the modes of `polygraphy debug precision` 0.53, which reports that "all" would be needed as a failure.
MinimalResult search_bisect(const std::vector<std::size_t>& order, const Oracle& oracle, const MinimalOptions& options);

/// Counts up: 0, step, 2 step ... until the first pass. Calls: up to order / step + 2, everything kept asked first.
MinimalResult search_linear(const std::vector<std::size_t>& order, std::size_t step, const Oracle& oracle,
                            const MinimalOptions& options);

}  // namespace vernier
