// What was found on this machine, and what was tried.
#pragma once

#include <string>

#include "vernier/export.h"

namespace vernier {

/// `vernier doctor`: what was found and tried; `healthy` is false when something needed is missing.
struct DoctorResult {
  std::string text;
  bool healthy = true;
};
VERNIER_API DoctorResult doctor();

}  // namespace vernier
