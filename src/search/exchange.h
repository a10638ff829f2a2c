// What dropping cannot do: keep other items instead. From what all trials measured follows what each item does, and
// from that the cheapest set that should pass; it is tested.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "search/passing.h"
#include "search/trials.h"

namespace vernier {

/// What each item does when it runs low, by all trials near the limit: the numbers closest to the predictions of
/// `items` that add up to every measured damage, and to no less than every bound.
///
/// Edges: +inf and 0 stay. Damages that do not add up give a compromise.
/// Source: Gordon, Bender & Herman 1970 (multiplicative algebraic reconstruction); it finds the nearest solution in
/// terms of relative entropy.
std::vector<double> damages_from_trials(std::span<const SearchItem> items, const TrialLog& log);

/// The cheapest set of which what runs low adds up to `allowance` at most, without borders; items keep what they need.
/// Damages count in steps of 1/4,096 of the allowance. Items with infinite damage are kept.
/// Cost: O(items * 4,096) time and bytes.
KeptSet cheapest_by_sum(std::span<const SearchItem> items, std::span<const double> damages, double allowance);

/// Tests sets that should pass and cost less than `best`. Returns at the first one that passes; `best` when none did.
/// Calls: at most 8, and one for every other item of `best`.
Passing exchange(const std::vector<SearchItem>& items, const Costs& costs, const Passing& best, TrialLog& log);

}  // namespace vernier
