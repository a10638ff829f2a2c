// What was found on this machine, as text.
#include <fmt/format.h>

#include <string>

#include "vernier/report/doctor.h"

namespace vernier {

std::string report_to_text(const DoctorReport& report) {
  std::string text = fmt::format("vernier {} | onnx {}\nmachine    {}\nSIMD       {}\n", report.vernier_version,
                                 report.onnx_version, report.machine, fmt::join(report.simd, ", "));
  if (report.onnxruntime_version) {
    text += fmt::format("ONNX Runtime {}\n", *report.onnxruntime_version);
    for (const auto& [place, outcome] : report.attempts) text += fmt::format("  tried {}: {}\n", place, outcome);
  } else {
    text += fmt::format("ONNX Runtime: {}\n  hint: {}\n", report.problem, report.hint);
  }
  return text + "TensorRT   not used: --target tensorrt is simulated (trt-sim)\n";
}

}  // namespace vernier
