// The whole flow of a diagnosis, for the jobs that are one and for each of several ways that are compared.
#pragma once

#include <optional>

#include "jobs/diagnose/diagnosis_repairs.h"
#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/measured_network.h"
#include "vernier/report/diagnose.h"

namespace vernier {

struct DiagnosisAnswer {
  DiagnoseReport report;
  std::optional<NetworkVariant> repaired;  // of an option: its network, where repairs changed it
  AcceptedRepairs accepted;
};

/// nullopt: an option whose answer would be no cheaper than the one that is there. Errors: as diagnose().
std::optional<DiagnosisAnswer> run_diagnosis(DiagnosisRun& run);

}  // namespace vernier
