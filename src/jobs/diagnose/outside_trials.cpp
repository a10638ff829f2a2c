#include "jobs/diagnose/outside_trials.h"

#include <fmt/format.h>

#include <filesystem>

#include "engines/onnxruntime/runtime.h"
#include "jobs/search/judge.h"
#include "jobs/verify/on_engine.h"
#include "json/json.h"
#include "vernier/engine.h"
#include "vernier/error.h"

namespace vernier {

EngineTrials::EngineTrials(MeasureOn on, const DiagnoseOptions& options, const Loaded& loaded, TypedResult& typed,
                           const Objective* objective, const JobSinks& sinks)
    : on_(on), options_(options), loaded_(loaded), typed_(typed), objective_(objective), sinks_(sinks) {
  start();
}

void EngineTrials::start() {
  if (engine_ != nullptr || on_ == MeasureOn::OnnxRuntime) return;
  engine_ = EngineRunner::require(options_for(on_, options_.engine), sinks_);
}

std::string EngineTrials::engine() const {
  return engine_ != nullptr ? engine_->text() : "ONNX Runtime " + loaded_.subject.runtime->version();
}

Trial EngineTrials::judge(const std::vector<std::string>& kept) {
  start();
  try {
    const std::unique_ptr<Tally> tally = objective_ == nullptr ? nullptr : objective_->begin(loaded_.subject.judged);
    const auto outputs =
        outputs_on_engine(typed_.fed_with_floats(typed_.trial(kept)), loaded_, engine_, tally.get(), sinks_);
    Trial trial = tally ? tally->trial() : trial_of(loaded_.subject, outputs, *options_.measure.requirement);
    trial.samples = loaded_.samples->size();
    ran_ = true;
    return trial;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Backend || !ran_) throw;
    engine_.reset();  // it may be dead
    Trial trial;
    trial.why = std::string("did not run: ") + error.what();
    return trial;
  }
}

OutsideCheck::OutsideCheck(const DiagnoseOptions& options, const DiagnoseReport& report, const std::string& objective,
                           TypedResult& typed, const JobSinks& sinks)
    : loop_(*options.search.check,
            CheckIdentity{"debug precision", options.model.name(), report.model_sha256,
                          fmt::format("scheme={}", report.scheme), objective},
            sinks, options.search.check_sinks),
      typed_(typed) {}

Trial OutsideCheck::judge(const std::vector<std::string>& kept) {
  const Json state = Json::Object{{"kept", Json::Array(kept.begin(), kept.end())}};
  const CheckLoop::Result result =
      loop_.check(state, "", [&](const std::filesystem::path& path) { typed_.write_trial(kept, path); });
  Trial trial;
  trial.verdict = result.verdict;
  trial.why = result.why;
  return trial;
}

}  // namespace vernier
