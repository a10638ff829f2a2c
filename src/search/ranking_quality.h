// How good the predictions were that a search went by, and better ones from what was measured meanwhile.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "search/cost.h"
#include "search/trials.h"

namespace vernier {

/// Spearman's rank correlation: 1 when both lists order alike, -1 when one is the reverse of the other. Equal values
/// share their mean rank.
/// Shapes: both [n]. Edges: absent for n < 4 (says nothing) and when one side is all equal. Cost: O(n log n).
std::optional<double> rank_correlation(std::span<const double> predicted, std::span<const double> measured);

/// Predicted damages of all items, moved so that they explain the trials on record: each trial whose damage was
/// measured to the end says what the items that ran low did together.
///
///   s_i <- s_i * mean over the trials t with i low of D_t / sum_{j low in t} s_j,      repeated
///
/// Items that no trial tells apart keep their ratio. Edges: +inf and 0 stay; trials far above the limit are left out,
/// where damages no longer add up. With fewer than two usable trials nothing changes but the scale.
/// Source: Richardson 1972 and Lucy 1974 (maximum likelihood of a nonnegative linear model).
std::vector<double> predictions_from_trials(std::span<const SearchItem> items, const TrialLog& log);

}  // namespace vernier
