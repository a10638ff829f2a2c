// What could be done about a requirement, each measured: the options that an answer is chosen from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/report/figures.h"
#include "vernier/target.h"
#include "vernier/words.h"

namespace vernier {

struct DiagnoseReport;

/// How one way to meet the requirement ended.
enum class AlternativeEnd {
  Met,         // of which none of the kept layers can be dropped
  Unfinished,  // met, and fewer layers may do: its evaluations were used up
  Missed,      // no choice of layers helps; the figures are the best there are
  NotMeasured  // `why` says so
};
/// "met", "unfinished", "missed", "not-measured".
VERNIER_API std::span<const std::string_view> words_of(AlternativeEnd which);

/// A figure that nobody asked for, which an option makes worse.
struct WorseFigure {
  std::string output;          // or part of one
  bool top1 = false;           // its top-1 agreement, a share; else its SQNR in dB
  double before = 0, now = 0;  // of what was found first, and of the option
};

/// One way to meet the requirement.
struct Alternative {
  /// What differs from the command of the report: "keep", nothing; "fix", the command; else arguments that replace
  /// others, as texts mark them (marks.h):
  /// "‹target› openvino".
  std::string change;
  std::vector<Format> low;         // what is tried
  std::optional<Target> target{};  // of another engine
  AlternativeEnd end = AlternativeEnd::NotMeasured;
  std::string why;          // not measured: why; else empty
  std::size_t kept = 0;     // layers in the high format
  std::size_t lowered = 0;  // layers that could be low, those included
  std::size_t repairs = 0;  // that were accepted
  std::int64_t kept_macs = 0, total_macs = 0;
  double cost = 0;                     // in the unit of the search
  std::optional<RunFigures> figures;   // of the typed model; Missed: with everything in the high format
  std::optional<double> metric;        // of the labels or the script that decide
  std::optional<double> ms, float_ms;  // median of one sample on ONNX Runtime; absent where its kernels say nothing
  double seconds = 0;                  // that measuring it took
  bool adopted = false;                // the answer of the report, in place of what was found first
  std::optional<WorseFigure> worse{};  // why a repaired network with the least work was not adopted
};

/// The one that meets the requirement at the least cost, of equal ones the first; null if none does. The cost is the
/// work times the bits of the format that does it; within one format what the search counted in, if not layers.
VERNIER_API const Alternative* best_alternative(const DiagnoseReport& report);
/// The one that the rest of the report is about: the adopted one, else what was found first. Null without alternatives.
VERNIER_API const Alternative* answer_of_alternatives(const DiagnoseReport& report);
/// Whether a model was measured that meets the requirement.
VERNIER_API bool meets(const Alternative& row);

}  // namespace vernier
