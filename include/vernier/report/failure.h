// A job that ended with an error, for programs: what `--json` prints instead of a report.
#pragma once

#include <string>

#include "vernier/export.h"

namespace vernier {

struct FailureReport {
  int version = 1;
  std::string outcome = "error";  // no report has this one
  std::string code;               // "E301"
  int exit_code = 0;
  std::string message, hint;  // the hint may be empty
};

VERNIER_API std::string report_to_json(const FailureReport& report);

}  // namespace vernier
