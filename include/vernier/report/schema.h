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

}  // namespace vernier
