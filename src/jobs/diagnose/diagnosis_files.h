// The files of `diagnose -o DIR`, but for the typed model and its plan.
#pragma once

#include <filesystem>

#include "vernier/diagnose.h"
#include "vernier/report/diagnose.h"

namespace vernier {

/// Errors: Usage when a file that diagnose writes is one that it reads.
void keep_inputs_safe(const DiagnoseOptions& options);

/// report.json, report.html and, where a typed model was written, deploy.md; named in report.files. Empty: none.
void write_record(DiagnoseReport& report, const std::filesystem::path& folder);

}  // namespace vernier
