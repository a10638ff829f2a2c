// The typed model of a network: written, read again and measured.
#pragma once

#include <cstdint>

#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/measured_network.h"
#include "vernier/note.h"
#include "vernier/report/diagnose.h"
#include "vernier/report/figures.h"
#include "vernier/report/verify.h"

namespace vernier {

/// What runs the trials of a search that no outside check decides.
enum class TrialsOn : std::uint8_t {
  Simulation,
  Runtime,  // ONNX Runtime with its default optimizations, beside the simulation, which the answer meets as well
  Engine,   // the engine alone
};

/// The typed model in the report is the one that was verified.
void show(const Verification& verified, DiagnoseReport& report);

/// Writes the model that the report's kept set says.
void write_typed(DiagnosisRun& run, MeasuredNetwork& network);
/// The same, and measures the file, where there is something to claim. `trials`: of the search that chose it. The
/// report shows it.
Verification write_and_verify(DiagnosisRun& run, MeasuredNetwork& network, TrialsOn trials);

/// For TensorRT, which is measured to sum otherwise than simulations assume.
bool sums_may_differ(const Plan& all_low);
OtherSums all_low_with_other_sums(DiagnosisRun& run, MeasuredNetwork& network);
/// Says what products of uint8 and int8 come to on CPUs that add them in 16 bits.
void report_saturation(DiagnosisRun& run, MeasuredNetwork& network);

}  // namespace vernier
