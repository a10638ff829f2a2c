// The runners of `vernier run`, in the order of the command line, each with its own precision.
#pragma once

#include <string>
#include <vector>

#include "options/options.h"
#include "vernier/run.h"

namespace vernier::cli {

/// A precision option belongs to the nearest runner before it that takes one (all but --onnxrt and --exec), where there
/// is none to all of them:
///   --fp16 --trt --onnxrt, --trt --fp16 --onnxrt, --trt --onnxrt --fp16   all mean: trt in fp16
///   --sim --int8 --sim --fp16                                             one runner in int8, one in fp16
class RunnerGroup {
 public:
  void add(CLI::App& app) { add(app, /*timed=*/false); }
  /// For a command that times: --trt is the engine, and what simulates or starts a program is refused.
  void add_to_time(CLI::App& app) { add(app, /*timed=*/true); }
  /// --onnx-outputs and its relatives, for commands where the tensors can be chosen.
  void add_outputs(CLI::App& app);
  /// One model is for all runners; as many models as runners pair up; one runner runs each of several models.
  /// Errors: Usage when models and runners do not fit, or precision is given and nothing takes it.
  std::vector<RunnerOptions> values(const std::vector<std::string>& models) const;
  /// Every model on every runner, model by model; OpenVINO gets what is placed for it. Errors: Usage when precision is
  /// given and nothing takes it.
  std::vector<RunnerOptions> every(const std::vector<std::string>& models) const;
  /// As if its option stood in front of all others; for a command where none was given.
  void add_first(RunnerKind kind);
  /// True when one runs in a process of its own, a program or an engine, which --timeout bounds.
  bool any_process() const;
  bool empty() const { return runners_.empty(); }
  bool any_script() const;

  const std::vector<std::string>& providers() const { return texts_.all("--providers"); }
  GraphOptimization optimization() const;
  OutputChoice onnx_outputs() const { return onnx_; }
  OutputChoice trt_outputs() const { return trt_; }

 private:
  struct Typed {
    RunnerOptions options;  // but for model and precision
    PrecisionText precision;
  };
  void add(CLI::App& app, bool timed);
  void add_exec(CLI::App& app);
  /// `takers`: the runners that take one, for messages.
  void check_precision(const char* takers) const;
  static RunnerOptions value(const Typed& typed, const std::string& model, bool for_openvino);
  PrecisionText& precision();
  void add_runner(const RunnerOptions& options);

  std::vector<Typed> runners_;
  PrecisionText common_;
  Texts texts_;
  OutputChoice onnx_, trt_;
  bool weakly_typed_ = false;
};

}  // namespace vernier::cli
