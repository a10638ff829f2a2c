// Which job wrote a document.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

enum class ReportKind {
  Diagnose,
  Verify,
  ReportDiff,
  DataDiff,
  DebugAccuracy,
  DebugLoss,
  DebugReduce,
  Calibrate,
  Convert,
  Pipeline,
  Eval,
  CheckData,
  CheckPlacement,
  InspectFormats,
  InspectCapability,
  InspectEngine,
  Bench,
  InspectModel,
  Doctor,
  Bundle,
  Failure,
};
/// What documents begin with: "vernier diagnose", "vernier pipeline".
VERNIER_API std::span<const std::string_view> words_of(ReportKind which);

/// Errors: Input, when the text is no report.
VERNIER_API ReportKind report_kind(const std::string& text, const std::string& where);

}  // namespace vernier
