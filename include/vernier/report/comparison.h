// Comparisons of runs in the peer's words.
#pragma once

#include <cstddef>
#include <string>

#include "vernier/comparison.h"
#include "vernier/export.h"
#include "vernier/runs.h"

namespace vernier {

/// In the peer's form ("[I] Accuracy Comparison | a vs. b"), one call a part, so that a run prints while it goes on.
struct ComparisonTextOptions {
  bool color = false;
  bool detail = false;             // -v: statistics and histograms also of what passed
  bool verdicts_only = false;      // -q: of each iteration the lines with verdicts and warnings
  std::size_t values_limit = 100;  // outputs with at most as many elements are printed whole
};
VERNIER_API std::string pair_header_to_text(const std::string& run, const std::string& reference,
                                            const ComparisonTextOptions& options);
VERNIER_API std::string iteration_to_text(const IterationComparison& iteration, const std::string& run,
                                          const std::string& reference, const Iteration& got, const Iteration& ref,
                                          const ComparisonTextOptions& options);
VERNIER_API std::string summary_to_text(const PairSummary& summary, const ComparisonTextOptions& options);

}  // namespace vernier
