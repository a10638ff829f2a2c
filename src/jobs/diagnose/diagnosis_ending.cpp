// What a diagnosis leaves behind where it ends early: an answer before the options, a record of what was measured.

#include <algorithm>
#include <string>
#include <utility>

#include "jobs/diagnose/diagnosis.h"
#include "jobs/diagnose/diagnosis_files.h"
#include "jobs/diagnose/diagnosis_notes.h"
#include "vernier/error.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// Options take many times as long as the answer, which can be read meanwhile.
void Diagnosis::write_answer_first() {
  DiagnoseReport so_far = report_;
  so_far.reference_from_file = typed_source_.quantized;
  writing([&] { write_record(so_far, options_.output); });
}

DiagnoseReport Diagnosis::ended_early() {
  measured_->keep();
  watch_.stop();
  if (loaded_.partial) loaded_.partial->done();
  return report_;
}

/// What was measured by then is not lost: on disk, unless it is the disk that ends the job, and with the error.
DiagnosisInterrupted Diagnosis::ended_by(const Error& error) {
  watch_.stop();
  rank();
  if (report_.kept) mark_kept();
  report_.interrupted = true;
  report_.reference_from_file = typed_source_.quantized;
  if (measured_) note_of_records();
  if (refused_file_ || !measured_anything(report_)) return {error, std::move(report_)};
  if (const auto older = older_files(report_, options_.output)) warn(*older);
  say_interrupted();
  try {
    write_record(report_, options_.output);
  } catch (const Error& refused) {
    warn({"record-not-written", {{"error", refused.what()}}});
  }
  return {error, std::move(report_)};
}

void Diagnosis::say_interrupted() {
  report_.interrupted = true;
  const std::string journal = report_.kept ? report_.kept->journal : std::string();
  const bool repaired = std::ranges::find(report_.phases, "repairs", &PhaseTime::phase) != report_.phases.end();
  Note note{"job-interrupted", {{"journal", journal}}};
  if (!journal.empty() || measured_->kept()) note.fields.emplace_back("repairs_anew", repaired);
  if (journal.empty() && measured_->kept()) note.fields.emplace_back("resumes", true);
  warn(note);
}

}  // namespace vernier
