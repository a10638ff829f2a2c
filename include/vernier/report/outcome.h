// Whether a diagnosis or a file met what was asked for: one answer for exit codes, gates, pages, texts and comparisons
// of builds.
#pragma once

#include <span>
#include <string_view>

#include "vernier/export.h"
#include "vernier/words.h"

namespace vernier {

struct DiagnoseReport;
struct VerifyReport;

enum class Outcome {
  NoRequirement,  // nothing was asked for: no requirement, and no labels, script or check that decide
  NotSearched,    // interrupted before the search, and everything low misses the requirement
  NothingNeeded,  // everything low meets it
  Met,            // the kept set meets it
  Stopped,        // the kept set meets it, and fewer layers may do: the search was cut short
  Unstable,       // the same test gave different answers, so the kept set is not proven
  NotVerified,    // met in simulation; interrupted before the written file was measured
  FileMisses,     // the kept set meets it in simulation, and the written file does not
  Missed,         // of verify: the file misses it
  Impossible,     // no choice of layers meets it
  NothingLeft,    // it is met with no layer in a low format, however the search ended
  NoFloatModel,   // what was measured against holds quantized values itself
  Refused,        // an engine refuses the file, whatever was measured of it; of a diagnosis: ONNX Runtime, its target
};

/// "no-requirement", "not-searched", "nothing-needed", "met", "stopped", "unstable", "not-verified", "file-misses",
/// "missed", "impossible", "nothing-left", "no-float-model", "refused": `outcome` of report.json.
VERNIER_API std::span<const std::string_view> words_of(Outcome which);

/// One line for people.
VERNIER_API std::string_view text_of(Outcome outcome);

/// FileMisses, Missed, Impossible or Refused.
VERNIER_API bool is_missed(Outcome outcome);

VERNIER_API Outcome outcome_of(const DiagnoseReport& report);
/// NoRequirement, Met, Missed, NoFloatModel or Refused.
VERNIER_API Outcome outcome_of(const VerifyReport& report);

/// Where the search did not end by itself (Stopped, Unstable), or the run did not, the written file has to say so.
/// Never without a float model (NoFloatModel).
VERNIER_API bool met(const DiagnoseReport& report);

/// 0: nothing was asked for, or it is met. 1: it is not, or a float model is needed to tell. 4: an engine was asked to
/// compile the file and refuses it, or ONNX Runtime, the target, does not run it. 5: it is met, and nothing is left in
/// low precision.
VERNIER_API int exit_code_of(const DiagnoseReport& report);
/// 0: nothing was asked for, or it is met. 1: it is not, a float model is needed to tell, or an engine refuses the
/// file.
VERNIER_API int exit_code_of(const VerifyReport& report);

}  // namespace vernier
