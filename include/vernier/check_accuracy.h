// The job behind `vernier check accuracy`: saved verdicts, as they are or by other thresholds.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vernier/accuracy_record.h"
#include "vernier/comparison.h"
#include "vernier/export.h"
#include "vernier/report/comparison.h"

namespace vernier {

/// `vernier check accuracy FILE`.
struct CheckAccuracyOptions {
  std::filesystem::path path;
  AccuracyRecord::Again again;
  bool check_average = false;  // --check-average; a file that was saved with it is judged so anyway
  std::filesystem::path save;  // --save-accuracy-results: the file with its new verdicts; empty: not saved
};
struct CheckAccuracyResult {
  AccuracyRecord record;           // with its new verdicts
  CompareOptions compare;          // how they are summed up; for AccuracyRecord::to_json()
  std::vector<PairSummary> pairs;  // a row of the record each
  bool given_thresholds = false;   // else those that were recorded
  bool passed = false;             // never when the record holds no pair
};
/// Errors: Input for the file; Usage as AccuracyRecord::judge_again.
VERNIER_API CheckAccuracyResult check_accuracy(const CheckAccuracyOptions& options);
/// In the peer's form: what failed, pair by pair, and the verdict.
VERNIER_API std::string result_to_text(const CheckAccuracyResult& result, const ComparisonTextOptions& options);

}  // namespace vernier
