// What could be done instead of keeping the layers that a search found: each way is measured, within a budget. One of
// them may become the answer: the repairs, which change nothing that the command says. Another target is another
// engine, another format is other arithmetic, and ranges that were taken over from a file are the user's: these stay
// options, and the user decides.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "vernier/diagnose.h"
#include "vernier/fix.h"
#include "vernier/report/alternatives.h"
#include "vernier/report/diagnose.h"
#include "vernier/sinks.h"

namespace vernier {

/// A diagnosis that writes nothing; with `repairs` unless that is null. nullopt: it ended early, as its answer would be
/// that without repairs, which costs no more.
using DiagnoseAgain =
    std::function<std::optional<DiagnoseReport>(const DiagnoseOptions&, const RepairOptions* repairs, const JobSinks&)>;

/// What was found first, then up to options.alternatives others: the repairs first, then another engine's placement,
/// then another format. These others are left out where the repaired network becomes the answer. Empty where nothing
/// has to be kept, and where each trial is dear or somebody else's: an outside check, an engine, several processes.
/// Cost: counted, never timed, so that the answer is the same on every machine. The search behind the repairs ends
/// after twice the evaluations of `found`, those of the others together after as many as `found` has; never before 30.
/// GPTQ rounds what fits into half an inference of all samples, by multiply-adds, or 5e9 of them, of the most damaging
/// layers first.
/// Errors: Interrupted; an error of one way is its `why`.
std::vector<Alternative> measure_alternatives(const DiagnoseOptions& options, const DiagnoseReport& found,
                                              const DiagnoseAgain& again, const JobSinks& sinks);

/// The times of the report's model to its row.
void add_latency(DiagnoseReport& report);

/// Marks the best of report.alternatives as adopted if it may become the answer. Whether it was.
bool adopt_best(const DiagnoseOptions& options, DiagnoseReport& report);

}  // namespace vernier
