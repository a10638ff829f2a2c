// What could be done instead of keeping the layers that a search found: each way is measured, within a budget. One of
// them may become the answer: the repairs, which change nothing that the command says. Another target is another
// engine, another format is other arithmetic, and ranges that were taken over from a file are the user's: these stay
// options, and the user decides.
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
/// check, an engine, several processes. Time: the repairs may become the answer, so trials end their search, twice as
/// many as that of `found` took, and no clock before five times what `found` took in sum, or 60 s. `saved_seconds` is
/// in that sum: what it would have taken without records of earlier jobs. The others: as long as that sum, or 10 s.
/// Errors: Interrupted; an error of one way is its `why`.
std::vector<Alternative> measure_alternatives(const DiagnoseOptions& options, const DiagnoseReport& found,
                                              double saved_seconds, const DiagnoseAgain& again, const JobSinks& sinks);

/// The times of the report's model to its row.
void add_latency(DiagnoseReport& report);

/// Marks the best of report.alternatives as adopted if it may become the answer. Whether it was.
bool adopt_best(const DiagnoseOptions& options, DiagnoseReport& report);

}  // namespace vernier
