// Why layers break, and what was tried, as text: a line for each cause, a line for each repair.
#pragma once

#include <string>

#include "vernier/report/diagnose.h"
#include "vernier/report/text.h"

namespace vernier {

std::string explanation_section(const DiagnoseReport& report, const TextOptions& options);

}  // namespace vernier
