// What `vernier check accuracy` prints beside the summaries.
#pragma once

#include <string>

#include "vernier/accuracy_record.h"
#include "vernier/report/comparison.h"

namespace vernier {

/// One line for each result that failed, the first twenty of a pair; empty when none did.
std::string failures_to_text(const AccuracyRecord::Row& row, const ComparisonTextOptions& options);

/// "[I] PASSED | ..." or "[E] FAILED | ...".
std::string verdict_to_text(bool passed, const std::string& words, const ComparisonTextOptions& options);

}  // namespace vernier
