// JSON Schemas of the documents that other programs read most.
#pragma once

#include <string>

#include "vernier/export.h"

namespace vernier {

/// Of report.json of `vernier diagnose`, `vernier fix` and `vernier debug precision`.
VERNIER_API std::string report_schema();
/// Of report.json of `vernier verify`.
VERNIER_API std::string verify_schema();
/// Of report.json of `vernier pipeline`.
VERNIER_API std::string pipeline_schema();
/// Of what every command prints with --json if it ends with an error.
VERNIER_API std::string error_schema();

}  // namespace vernier
