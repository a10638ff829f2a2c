// How a diagnosis finds what to keep in a network: the search, and the file that has the last word.
#pragma once

#include <optional>
#include <string>

#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/measured_network.h"
#include "jobs/diagnose/written_model.h"
#include "plan/plan.h"
#include "vernier/report/figures.h"
#include "vernier/report/verify.h"

namespace vernier {

/// A file that the search confirmed in vain: the simulation met the requirement.
struct RefusedFile {
  Plan plan;
  RunFigures simulated;
  EngineFigures there;
};

struct Searched {
  Verification verified;               // of the file that the kept set of the report made
  std::optional<RefusedFile> refused;  // the first
  bool no_cheaper = false;             // of an option: it cannot beat the answer that is there, and ended
};

/// The written file has the last word: what misses in it is searched again, with the file of each set that passes. The
/// kept set is in the report. `journal_suffix`: of a search that has a journal of its own.
Searched search(DiagnosisRun& run, MeasuredNetwork& network, const std::string& journal_suffix = "");

}  // namespace vernier
