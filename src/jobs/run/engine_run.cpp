#include "jobs/run/engine_run.h"

#include <fmt/format.h>

#include "model/raw_proto.h"
#include "vernier/engine.h"
#include "vernier/report/engine.h"
#include "vernier/run.h"
#include "vernier/sinks.h"

namespace vernier {

EngineRun::EngineRun(std::string name, std::shared_ptr<EngineRunner> engine, Model model,
                     std::shared_ptr<const SampleSource> samples,
                     std::vector<std::pair<std::string, std::string>> carries, EngineReport* report)
    : NetworkRun(std::move(name), model, std::move(samples), std::move(carries)), engine_(std::move(engine)) {
  if (report != nullptr) *report = engine_->open(model, this->samples());
}

std::vector<NamedTensor> EngineRun::infer(const Sample& sample, double& seconds) const {
  return engine_->run(sample, seconds);
}

RunnerKind runner_kind(std::optional<MeasureOn> on) {
  if (!on) return RunnerKind::Simulated;
  switch (*on) {
    case MeasureOn::OnnxRuntime:
      return RunnerKind::OnnxRuntime;
    case MeasureOn::TensorRt:
      return RunnerKind::TensorRt;
    case MeasureOn::OpenVino:
      return RunnerKind::OpenVino;
  }
  return RunnerKind::Simulated;
}

std::unique_ptr<EngineRunner> engine_of(const RunOptions& options, const RunnerOptions& runner, const JobSinks& sinks,
                                        const Warn& warn) {
  const bool openvino = runner.kind == RunnerKind::OpenVino;
  if (!openvino && (runner.kind != RunnerKind::TensorRt || runner.use == EngineUse::Never)) return nullptr;
  EngineRunOptions engine = options_for(openvino ? MeasureOn::OpenVino : MeasureOn::TensorRt, options.engine);
  engine.device = runner.device;
  engine.python = options.measure.data.python;
  if (options.measure.data.script_seconds > 0) engine.seconds = options.measure.data.script_seconds;
  // Nothing else runs an engine's file.
  const bool built = !openvino && is_built_engine(runner.model);
  if (openvino || built || runner.use == EngineUse::Always) return EngineRunner::require(engine, sinks);
  EngineFailures failures;
  if (has_nvidia_driver()) {
    if (auto found = EngineRunner::find(engine, sinks, failures)) return found;
  } else {
    failures.reasons.emplace_back("there is no NVIDIA driver");
  }
  warn({"tensorrt-simulated", {{"why", fmt::format("{}", fmt::join(failures.reasons, "; "))}}});
  return nullptr;
}

}  // namespace vernier
