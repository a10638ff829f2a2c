// What was found on this machine, and what was tried.
#pragma once

#include "vernier/export.h"
#include "vernier/report/doctor.h"

namespace vernier {

/// Looks for what jobs need. What is missing is a finding, no error.
VERNIER_API DoctorReport doctor();

}  // namespace vernier
