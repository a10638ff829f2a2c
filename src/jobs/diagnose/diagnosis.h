// The whole flow of a diagnosis, for the jobs that are one and for each of several ways that are compared.
#pragma once

#include <optional>

#include "jobs/diagnose/diagnosis_repairs.h"
#include "jobs/diagnose/diagnosis_run.h"

namespace vernier {

/// nullopt: an option whose answer would be no cheaper than the one that is there. Errors: as diagnose().
std::optional<DiagnosisAnswer> run_diagnosis(DiagnosisRun& run);

}  // namespace vernier
