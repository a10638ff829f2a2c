// The second step of the minimal search: estimates near the limit instead of sensitivities far from it.
#pragma once

#include <span>

#include "search/minimal.h"
#include "search/passing.h"
#include "search/trials.h"

namespace vernier {

/// Replaces predictions of the kept items by what options.estimate says near the limit, and drops those that the
/// estimates say can go together. Sensitivities rank well far from the limit; near it, errors that cancel or meet
/// decide. The first time, how well the two agree goes into `result`. Calls: estimates, one a kept item and more;
/// trials only for what is dropped.
Found refine(const Found& found, std::span<const Border> borders, TrialLog& log, const MinimalOptions& options,
             MinimalResult& result);

}  // namespace vernier
