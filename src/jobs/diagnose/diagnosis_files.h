// The files of `diagnose -o DIR`, but for the typed model and its plan.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "vernier/diagnose.h"
#include "vernier/note.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// Errors: Usage when a file that diagnose writes is one that it reads.
void keep_inputs_safe(const DiagnoseOptions& options);

/// What the typed model says of itself (plan/signature.h): "requirement" where there was one, and "figure", with the
/// samples and the evidence it rests on.
std::map<std::string, std::string> claims_of(const DiagnoseReport& report);

/// Whether a report that was cut short has figures of the low formats: they are worth a file.
bool measured_anything(const DiagnoseReport& report);

/// Which files of a run before lie in `folder`, for a report that has none of its own beside it; empty: none.
std::optional<Note> older_files(const DiagnoseReport& report, const std::filesystem::path& folder);

/// report.json, report.html and, where a typed model was written, deploy.md; named in report.files, unless they cannot
/// be written. Empty: none. Errors: Input.
void write_record(DiagnoseReport& report, const std::filesystem::path& folder);

}  // namespace vernier
