// Trials of a search outside the simulation: a typed model each, which an engine runs, or a program of the user judges.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "external_check/check_loop.h"
#include "jobs/common/load.h"
#include "jobs/diagnose/typed_result.h"
#include "jobs/engine/engine_runner.h"
#include "jobs/search/objective.h"
#include "search/oracle.h"
#include "vernier/diagnose.h"
#include "vernier/report/diagnose.h"
#include "vernier/sinks.h"

namespace vernier {

class EngineTrials {
 public:
  /// By `objective`; null: by the requirement, which must be there. The references must outlive it. Errors: Backend:
  /// the engine is not here; Interrupted.
  EngineTrials(MeasureOn on, const DiagnoseOptions& options, const Loaded& loaded, TypedResult& typed,
               const Objective* objective, const JobSinks& sinks);

  /// "TensorRT-RTX 1.6.1.120 on NVIDIA H200"
  std::string engine() const;
  /// The typed model with these layers kept. One that the engine refuses, or dies of, is Invalid, in its words.
  /// Errors: Backend: the first one does not run, and so hardly any; it does not start again; Interrupted.
  Trial judge(const std::vector<std::string>& kept);

 private:
  void start();

  const MeasureOn on_;
  const DiagnoseOptions& options_;
  const Loaded& loaded_;
  TypedResult& typed_;
  const Objective* objective_;
  const JobSinks& sinks_;
  bool ran_ = false;
  std::shared_ptr<EngineRunner> engine_;  // null: ONNX Runtime, or to be started
};

class OutsideCheck {
 public:
  /// `options.search.check` is there. `objective`: what decides (Objective::key()). `typed` must outlive it.
  OutsideCheck(const DiagnoseOptions& options, const DiagnoseReport& report, const std::string& objective,
               TypedResult& typed, const JobSinks& sinks);

  /// The typed model with these layers kept, as the program sees it.
  Trial judge(const std::vector<std::string>& kept);

 private:
  CheckLoop loop_;
  TypedResult& typed_;
};

}  // namespace vernier
