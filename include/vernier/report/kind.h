// Which job wrote a report.
#pragma once

#include <string>

#include "vernier/export.h"

namespace vernier {

/// "vernier diagnose", "vernier pipeline": what wrote a report. Errors: Input, when the text is no report.
VERNIER_API std::string report_kind(const std::string& text, const std::string& where);

}  // namespace vernier
