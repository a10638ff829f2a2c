// A runner on an engine of its own.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "jobs/engine/engine_runner.h"
#include "jobs/run/live_run.h"
#include "model/model.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

class EngineRun final : public NetworkRun {
 public:
  /// `model` has the outputs that are to be given. Runs of one engine must not live at the same time. Where `report` is
  /// null the engine is open and gives these; else it is built of `model`, and what it makes of that goes to `report`.
  EngineRun(std::string name, std::shared_ptr<EngineRunner> engine, Model model,
            std::shared_ptr<const SampleSource> samples, std::vector<std::pair<std::string, std::string>> carries,
            EngineReport* report);

  /// One at a time: there is one engine.
  bool is_sequence() const override { return true; }
  /// To see more tensors it would have to be built anew, and would fuse others.
  std::optional<NonFinite> first_nonfinite(std::size_t) const override { return std::nullopt; }

 private:
  std::vector<NamedTensor> infer(const Sample& sample, double& seconds) const override;

  std::shared_ptr<EngineRunner> engine_;
};

}  // namespace vernier
