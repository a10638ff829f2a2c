// Requirements (docs/contract.md, 4): what "accurate enough" means. Measured on every judged output.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

enum class Metric { MinSqnrDb, MaxAbsError, MaxMse, MinCosine, MinTop1Agreement };

struct Limit {
  double value = 0;
  std::string output;  // or a slice of one, "output0[:,4:]"; empty: every judged output
};

/// What diagnose() and fix() are asked for by the command line and by Python.
inline constexpr double kClaimConfidence = 0.9;

struct Requirement {
  Metric metric = Metric::MinSqnrDb;
  std::vector<Limit> limits;  // at least one; with the margin in them
  double margin_db = 0;       // that was asked for beyond the limits as they were given; 0: none
  /// How sure a figure has to be on new samples: the lower end of its interval has to meet the limit with this
  /// confidence (docs/contract.md, 4). 0.5: the figure itself decides.
  double confidence = 0.5;

  /// The limit for an output: its own, else of a slice that of its output, else the general one, else none.
  VERNIER_API std::optional<double> limit_for(const std::string& output) const;
};

/// Jobs call it. Errors: Usage, naming the metric: no limit; one that is no number, or beyond what the metric can be
/// (of errors below 0, of a cosine outside -1 to 1, of a share outside 0 to 1); two for the same output; a confidence
/// below 0.5, or of 1 and more.
VERNIER_API void require_valid(const Requirement& requirement);

/// Errors: Usage: below 0.5, or of 1 and more.
VERNIER_API void require_confidence(double confidence);

/// The same with limits that ask for `db` more: SQNR by db, errors with the power 10^(-db / 10) of what is allowed, so
/// max-abs by 10^(-db / 20), and of a cosine C 1 - (1 - C) 10^(-db / 10).
/// Errors: Usage: a negative or not finite number; of agreement, which has no power.
VERNIER_API Requirement with_margin(Requirement requirement, double db);

/// "min-sqnr": the argument that asks for it, as texts mark it (marks.h).
VERNIER_API std::span<const std::string_view> words_of(Metric which);
/// "dB"; empty: it has none.
VERNIER_API std::string_view metric_unit(Metric metric);
/// All metrics, for command lines.
VERNIER_API const std::vector<Metric>& all_metrics();
/// Reads "24", "scores:46" or "output0[:,4:]:30". Errors: Usage.
VERNIER_API Limit parse_limit(const std::string& text);

}  // namespace vernier
