// What was found on this machine, as text.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "vernier/marks.h"
#include "vernier/report/doctor.h"

namespace vernier {

namespace {

std::string engine_text(const DoctorReport::Engine& engine) {
  const EngineAbout& about = engine.about;
  if (!engine.missing.empty())
    return fmt::format("{}: not found\n  tried {}\n", about.name, command_words(engine.missing));
  std::string text = fmt::format("{} {} (package {} in {})\n", about.name, about.version, about.package, about.python);
  for (const EngineAbout::Device& device : about.devices) {
    const bool gpu = !device.capability.empty() && !device.name.starts_with(device.capability);
    text += fmt::format("  runs on {}{}\n", device.name, gpu ? ", compute capability " + device.capability : "");
  }
  if (about.devices.empty()) text += fmt::format("  runs nothing on this machine: {}\n", about.no_device);
  if (!about.capabilities.empty()) {
    text += fmt::format("  compiles for compute capability {}\n", fmt::join(about.capabilities, ", "));
  }
  return text;
}

std::string gpu_text(const DoctorReport::Gpu& gpu) {
  std::string text = fmt::format("--device cuda: {}\n", gpu.complete ? "complete" : "cannot be used");
  for (const auto& [part, finding] : gpu.parts) text += fmt::format("  {}: {}\n", part, finding);
  if (!gpu.hint.empty()) text += fmt::format("  hint: {}\n", gpu.hint);
  return text;
}

}  // namespace

std::string report_to_text(const DoctorReport& report) {
  std::string text = fmt::format("vernier {} | onnx {}\nmachine    {}\nSIMD       {}\n", report.vernier_version,
                                 report.onnx_version, report.machine, fmt::join(report.simd, ", "));
  if (report.onnxruntime_version) {
    text += fmt::format("ONNX Runtime {}\n", *report.onnxruntime_version);
    for (const auto& [place, outcome] : report.attempts) text += fmt::format("  tried {}: {}\n", place, outcome);
  } else {
    text += fmt::format("ONNX Runtime: {}\n  hint: {}\n", command_words(report.problem), command_words(report.hint));
  }
  text += gpu_text(report.gpu);
  for (const DoctorReport::Engine& engine : report.engines) text += engine_text(engine);
  const bool tensorrt = std::ranges::any_of(report.engines, [](const DoctorReport::Engine& engine) {
    return engine.missing.empty() && engine.about.runs && engine.about.name.starts_with("TensorRT");
  });
  return text + (tensorrt ? "Runners    --trt runs on the engine\n"
                          : "Runners    --trt is simulated (trt-sim): no TensorRT runs on this machine; vernier "
                            "inspect engine compiles without a GPU\n");
}

}  // namespace vernier
