// `vernier doctor`: what this machine offers, what was tried, what is missing.

#include "vernier/doctor.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/machine.h"
#include "base/version.h"
#include "engines/hosts/engine_host.h"
#include "engines/onnxruntime/gpu_side.h"
#include "engines/onnxruntime/runtime.h"
#include "numerics/round.h"
#include "vernier/error.h"

namespace vernier {

namespace {

constexpr double kPatience = 60;  // seconds for an engine to say what it is

DoctorReport::Engine look_for(HostedEngine engine, const std::string& python) {
  EngineHost host(engine, {python, "", kPatience, {}, {}});
  DoctorReport::Engine found;
  try {
    found.about = host.about();
  } catch (const Error& error) {
    found.about.name = host.name();
    found.missing = error.what();
    if (!error.hint().empty()) found.missing += " (" + error.hint() + ")";
  }
  return found;
}

}  // namespace

DoctorReport doctor(const std::string& python) {
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
  GpuFindings gpu = find_gpu_parts();
  report.gpu = {std::move(gpu.parts), gpu.complete, std::move(gpu.hint)};
  for (const HostedEngine engine :
       {HostedEngine::TensorRt, HostedEngine::TensorRtRtx, HostedEngine::Trtexec, HostedEngine::OpenVino}) {
    report.engines.push_back(look_for(engine, python));
  }
  return report;
}

}  // namespace vernier
