// What could be done instead of keeping the layers that a search found: each way is measured, within a budget.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "vernier/diagnose.h"
#include "vernier/fix.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/diagnose.h"
#include "vernier/sinks.h"

namespace vernier {

using Deadline = std::chrono::steady_clock::time_point;

/// A diagnosis that writes nothing; with `repairs` unless that is null. From `deadline` on it ends with the best set so
/// far, or as interrupted.
using DiagnoseAgain = std::function<DiagnoseReport(const DiagnoseOptions&, const RepairOptions* repairs,
                                                   Deadline deadline, const JobSinks&)>;

/// What was found first, then up to options.alternatives others: the repairs first, then another engine's placement,
/// then another format. Empty where nothing has to be kept, and where each trial is dear or somebody else's: an outside
/// check, an engine, several processes. Time: twice what `found` took in sum, `saved_seconds` with it, which it would
/// have taken without records of earlier jobs, or 10 s if that is more.
/// Errors: Interrupted; an error of one way is its `why`.
std::vector<Alternative> measure_alternatives(const DiagnoseOptions& options, const DiagnoseReport& found,
                                              double saved_seconds, const DiagnoseAgain& again, const JobSinks& sinks);

}  // namespace vernier
