// The job behind `vernier check accuracy`: saved verdicts, as they are or by other thresholds.
#pragma once

#include <filesystem>
#include <string>

#include "vernier/accuracy_record.h"
#include "vernier/export.h"
#include "vernier/report/comparison.h"

namespace vernier {

/// `vernier check accuracy FILE`.
struct CheckAccuracyOptions {
  std::filesystem::path path;
  AccuracyRecord::Again again;
  bool check_average = false;  // --check-average; a file that was saved with it is judged so anyway
  std::filesystem::path save;  // --save-accuracy-results: the file with its new verdicts; empty: not saved
  bool json = false;           // the text of the result is what would be saved
  ComparisonTextOptions text;
};
struct CheckAccuracyResult {
  std::string text;
  bool passed = false;
};
/// Errors: Input for the file; Usage as AccuracyRecord::judge_again.
VERNIER_API CheckAccuracyResult check_accuracy(const CheckAccuracyOptions& options);

}  // namespace vernier
