// JSON Schemas of the documents that other programs read most.
#pragma once

#include <string>

#include "vernier/export.h"

namespace vernier {

/// Of report.json of `vernier diagnose` and `vernier fix`.
VERNIER_API std::string report_schema();

}  // namespace vernier
