// `vernier doctor`: what this machine offers, what was tried, what is missing.

#include "vernier/doctor.h"

#include <string_view>

#include "base/machine.h"
#include "base/version.h"
#include "engines/onnxruntime/runtime.h"
#include "numerics/round.h"
#include "vernier/error.h"

namespace vernier {

DoctorReport doctor() {
  DoctorReport report;
  report.vernier_version = vernier_version();
  report.onnx_version = onnx_version();
  report.machine = machine_text();
  for (const std::string_view target : dispatch_targets()) report.simd.emplace_back(target);
  try {
    const auto runtime = Runtime::load();
    report.onnxruntime_version = runtime->version();
    for (const LoadAttempt& attempt : runtime->attempts()) {
      report.attempts.emplace_back(attempt.place, attempt.outcome);
    }
  } catch (const Error& error) {
    report.problem = error.what();
    report.hint = error.hint();
  }
  return report;
}

}  // namespace vernier
