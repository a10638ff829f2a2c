// Requirements (docs/contract.md, 4): what "accurate enough" means. Measured on every judged output.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"

namespace vernier {

enum class Metric { MinSqnrDb, MaxAbsError, MaxMse, MinCosine, MinTop1Agreement };

struct Limit {
  double value = 0;
  std::string output;  // empty: every judged output
};

struct Requirement {
  Metric metric = Metric::MinSqnrDb;
  std::vector<Limit> limits;  // at least one

  /// The limit for an output: its own, else the general one, else none.
  VERNIER_API std::optional<double> limit_for(const std::string& output) const;
};

/// "--min-sqnr", "dB" ... for messages and reports.
VERNIER_API std::string_view metric_option(Metric metric);
VERNIER_API std::string_view metric_unit(Metric metric);
/// All metrics, for command lines.
VERNIER_API const std::vector<Metric>& all_metrics();
/// Reads "24" or "scores:46". Errors: Usage.
VERNIER_API Limit parse_limit(const std::string& text);

}  // namespace vernier
