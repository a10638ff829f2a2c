// The job behind `vernier debug accuracy`: where along the graph a run leaves its reference, which layers add error of
// their own behind that, and which only pass it on.
#pragma once

#include <string>

#include "vernier/export.h"
#include "vernier/report/debug_accuracy.h"
#include "vernier/run.h"
#include "vernier/sinks.h"

namespace vernier {

struct DebugAccuracyOptions {
  /// One runner, and its data; outputs, saving and comparing options do not count here.
  RunOptions run;
  /// The reference: "onnxrt" or "sim" for that runner on the same model in float32, else a file of saved outputs.
  std::string golden = "onnxrt";
  double min_sqnr_db = 20;
  std::string command;
};

/// Errors: Usage when there is not exactly one runner; Input, Backend.
VERNIER_API DebugAccuracyReport debug_accuracy(const DebugAccuracyOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
