// A minimal search whose oracle is nearly right: a second, slower judge has the last word on what it finds.
// Simulations of a plan and of the file made from it round the same values, but may sum in another order, and a set
// that meets the limit by a hair in one can miss it in the other.
#pragma once

#include <functional>
#include <vector>

#include "search/minimal.h"

namespace vernier {

/// The trial of a finished set by the judge that decides, Invalid when it could not be measured, which ends the search
/// with the set as it is.
using Confirm = std::function<Trial(const MinimalResult& result)>;

/// What the judge says of any set that passed: `passed` as it is, or the judge's own trial where that is worse.
using JudgePassing = std::function<Trial(const KeptSet& kept, const Trial& passed)>;

using Search = std::function<MinimalResult(const std::vector<SearchItem>& items, const Oracle& oracle,
                                           const MinimalOptions& options)>;

/// `search`, search_minimal or another. Where `confirm`, or `judge` early on, refuses a set that the oracle passed,
/// `judge` is asked about the other sets that did, the cheapest first, until one passes there too. A second search
/// begins from it, or anew, and asks `judge` too of each set that passes, so that both pass what it ends with. Answers
/// of the oracle are not asked again.
///
/// Calls:  of confirm: one, of the first result or that of a second search, or one of each. Of judge: one for each
///         cheapest set below which three tests in a row failed; once a set is refused, one for each that passes.
/// Edges:  the last set, confirmed or not, is returned: the caller knows what confirm said. No second search when the
///         damages differ by more than a factor of options.most_apart (that is a fault, not noise), or after a
///         contradiction. With an empty budget it ends with the cheapest set that both are known to pass. A second
///         search in which nothing passes counts for nothing; a note says where the judge refuses everything kept.
/// Errors: those of search; what confirm and judge throw passes through.
MinimalResult search_confirmed(const Search& search, const std::vector<SearchItem>& items, const Oracle& oracle,
                               const Confirm& confirm, const JudgePassing& judge, const MinimalOptions& options);

}  // namespace vernier
