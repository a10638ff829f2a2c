// The first step of the minimal search: along the ranking to a short prefix that passes.
#pragma once

#include <vector>

#include "search/minimal.h"
#include "search/passing.h"
#include "search/trials.h"

namespace vernier {

/// Shrinks the ranked prefix until one test passes and the next shorter one fails. Both ends must be in `result`.
/// Where what is measured is far from what was predicted, the items found have better predictions: from
/// options.rerank, then from the trials on record (ranking_quality.h). A note says so, or that the ranking is poor.
Found guess(const std::vector<SearchItem>& items, TrialLog& log, const MinimalOptions& options, MinimalResult& result);

}  // namespace vernier
