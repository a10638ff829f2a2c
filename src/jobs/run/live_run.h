// Runners that compute: each is a Run whose iterations are inferences, so that the rest of the job sees no difference
// between them and runs from files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engines/onnxruntime/session.h"
#include "jobs/common/sources.h"
#include "model/model.h"
#include "vernier/run.h"
#include "vernier/runs.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

/// A tensor with values that are not finite.
struct NonFinite {
  std::string tensor;
  std::string layer, op_type;  // of the node that made it; empty for a graph input
  std::int64_t nan = 0, infinite = 0, count = 0;
};

class LiveRun : public Run {
 public:
  LiveRun(std::string name, std::shared_ptr<const SampleSource> samples)
      : name_(std::move(name)), samples_(std::move(samples)) {}

  const std::string& name() const override { return name_; }
  std::size_t size() const override { return samples_->size(); }
  const SampleSource& samples() const { return *samples_; }

  /// at() must be called for 0, 1, ... in that order, one at a time: iterations depend on those before, or on a device.
  virtual bool is_sequence() const { return false; }

  /// Runs sample `index` again with every tensor in sight: the first one in graph order that is not finite. nullopt
  /// when there is none, because looking at the tensors changed what is computed, or the runner cannot be looked into.
  virtual std::optional<NonFinite> first_nonfinite(std::size_t index) const = 0;

 private:
  std::string name_;
  std::shared_ptr<const SampleSource> samples_;
};

/// A model on ONNX Runtime: as it is, or simulated.
class SessionRun final : public LiveRun {
 public:
  /// `model` has the outputs that are to be given.
  SessionRun(std::string name, Model model, const SessionOptions& options, std::shared_ptr<const SampleSource> samples,
             std::vector<std::pair<std::string, std::string>> carries);

  Iteration at(std::size_t index) const override;
  bool is_sequence() const override { return !carries_.empty(); }
  std::optional<NonFinite> first_nonfinite(std::size_t index) const override;

 private:
  Model model_;
  SessionOptions options_;
  std::vector<std::pair<std::string, std::string>> carries_;
  std::set<std::string> only_carried_;  // outputs that were not asked for
  Session session_;
  mutable Sample state_;
};

/// Counts of values that are not finite; false when there are none.
bool find_nonfinite(const Tensor& tensor, NonFinite& counts);

/// The runner `index` of the job. `sources` are made of `options.measure`. Texts for people go to `warn`, each once a
/// job.
std::unique_ptr<LiveRun> make_live_run(const RunOptions& options, std::size_t index, const std::string& name,
                                       Sources& sources, const std::function<void(const std::string&)>& warn);

/// "onnxrt-runner-N0-11/20/26-23:59:53", as the peer names runners; the others are trt-sim, sim and exec.
std::string runner_name(RunnerKind kind, std::size_t index, std::time_t now);

}  // namespace vernier
