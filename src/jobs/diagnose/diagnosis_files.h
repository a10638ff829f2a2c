// What a diagnosis leaves behind: the files of `diagnose -o DIR`, but for the typed model and its plan, and a record of
// what was measured where it ends early.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "jobs/common/load.h"
#include "jobs/diagnose/diagnosis_run.h"
#include "jobs/diagnose/loaded_model.h"
#include "jobs/diagnose/measured_network.h"
#include "vernier/diagnose.h"
#include "vernier/error.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// Errors: Usage when a file that diagnose writes is one that it reads.
void keep_inputs_safe(const DiagnoseOptions& options);

/// What the typed model says of itself (plan/signature.h): "requirement" where there was one, and "figure", with the
/// samples and the evidence it rests on.
std::map<std::string, std::string> claims_of(const DiagnoseReport& report);

/// report.json, report.html and, where a typed model was written, deploy.md; named in report.files, unless they cannot
/// be written. Empty: none. Errors: Input.
void write_record(DiagnoseReport& report, const std::filesystem::path& folder);

/// Sets DiagnoseReport::trainable. Of RepairOptions::qat, where that is given, refuses what cannot be trained. Errors:
/// as refusal_of_qat(); Usage when qat.py is one of the inputs.
void require_qat(DiagnosisRun& run, const LoadedModel& model);
/// Writes it, of the answer: layers that a search keeps stay float, unless it leaves none low. With `rewritten` ranges
/// are those of the network without repairs, which is the one that is trained. Errors: Input.
void write_qat(DiagnosisRun& run, const MeasuredNetwork& network, bool rewritten);

/// What was taken from records of earlier jobs, in words, and what kept this one from leaving its own.
void note_of_records(DiagnosisRun& run, const Loaded& loaded, const std::string& taken);

/// That it was interrupted, with the journal that a next one goes on from.
void say_interrupted(DiagnosisRun& run);

/// What was measured by then is not lost: on disk, unless it is the disk that ends the job, and with the error.
DiagnosisInterrupted ended_by(DiagnosisRun& run, const Error& error);

/// What `body` gives. Where the user, or a disk that takes no file, ends it, `rank` brings the report up to date.
template <class Body, class Rank>
auto or_record(DiagnosisRun& run, const Body& body, const Rank& rank) {
  try {
    return body();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Interrupted && !run.refused_file) throw;
    run.watch.stop();
    rank();
    throw ended_by(run, error);
  }
}

}  // namespace vernier
