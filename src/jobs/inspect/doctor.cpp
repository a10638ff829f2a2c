// `vernier doctor`: what this machine offers, what was tried, what is missing.

#include "vernier/doctor.h"

#include <fmt/format.h>

#include "base/machine.h"
#include "base/parallel.h"
#include "base/version.h"
#include "engines/onnxruntime/runtime.h"
#include "numerics/round.h"
#include "vernier/error.h"

namespace vernier {

DoctorResult doctor() {
  DoctorResult result;
  result.text = fmt::format("vernier {} | onnx {}\nmachine    {}\n", vernier_version(), onnx_version(), machine_text());
  const std::vector<std::string_view> targets = dispatch_targets();
  result.text += fmt::format("SIMD       {}\n", fmt::join(targets, ", "));
  try {
    const auto runtime = Runtime::load();
    result.text += fmt::format("ONNX Runtime {}\n", runtime->version());
    for (const LoadAttempt& attempt : runtime->attempts()) {
      result.text += fmt::format("  tried {}: {}\n", attempt.place, attempt.outcome);
    }
  } catch (const Error& error) {
    result.healthy = false;
    result.text += fmt::format("ONNX Runtime: {}\n  hint: {}\n", error.what(), error.hint());
  }
  result.text += "TensorRT   not used: --target tensorrt is simulated (trt-sim)\n";
  return result;
}

}  // namespace vernier
