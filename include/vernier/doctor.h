// What was found on this machine, and what was tried.
#pragma once

#include <string>

#include "vernier/export.h"
#include "vernier/report/doctor.h"

namespace vernier {

/// Looks for what jobs need, and for engines in `python`. What is missing is a finding, no error.
VERNIER_API DoctorReport doctor(const std::string& python = "python3");

}  // namespace vernier
