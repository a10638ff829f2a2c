// What --prove-minimum found out about other sets of kept layers, in words that two reports share.
#pragma once

#include <string>

#include "vernier/report/diagnose.h"

namespace vernier {

/// "no set that passes costs less than 7 of its 9 layers"; where a bound was asked for and there is none, why; empty:
/// none was asked for, or nothing is kept. For reports with a kept set.
std::string minimum_text(const DiagnoseReport& report);

}  // namespace vernier
