// A runner that is any program: it reads a .npz and writes one.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "jobs/common/model_file.h"
#include "jobs/run/live_run.h"
#include "vernier/onnx_model.h"
#include "vernier/runs.h"
#include "vernier/samples.h"

namespace vernier {

class ProgramRun final : public LiveRun {
 public:
  /// `command` as RunnerOptions::command says. `timeout_seconds` for each sample; 0: none.
  /// Errors: Usage when a placeholder is unknown, or {inputs} or {outputs} are missing.
  ProgramRun(std::string name, std::string command, const OnnxModel& model, std::shared_ptr<const SampleSource> samples,
             double timeout_seconds, std::function<bool()> interrupted);

  /// Errors: Backend when the program fails or writes nothing that can be read, with what it did; Interrupted.
  Iteration of(std::size_t index, Sample sample) const override;
  /// One at a time: behind the program may be a device, or more memory than two of them find.
  bool is_sequence() const override { return true; }
  std::optional<NonFinite> first_nonfinite(std::size_t) const override { return std::nullopt; }

 private:
  std::string command_;
  ModelFile model_;
  double timeout_seconds_;
  std::function<bool()> interrupted_;
};

}  // namespace vernier
