// Runners that compute: each is a Run whose iterations are inferences, so that the rest of the job sees no difference
// between them and runs from files.
#pragma once

#include <ctime>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/ort/session.h"
#include "model/model.h"
#include "vernier/run.h"

namespace vernier {

/// A tensor with values that are not finite.
struct NonFinite {
  std::string tensor;
  std::string layer, op_type;  // of the node that made it; empty for a graph input
  std::int64_t nan = 0, infinite = 0, count = 0;
};

class LiveRun final : public Run {
 public:
  /// `model` has the outputs that are to be given. With carries, at() must be called for 0, 1, ... in that order.
  LiveRun(std::string name, Model model, const SessionOptions& options, std::shared_ptr<const SampleSource> samples,
          std::vector<std::pair<std::string, std::string>> carries);

  const std::string& name() const override { return name_; }
  std::size_t size() const override { return samples_->size(); }
  Iteration at(std::size_t index) const override;

  const SampleSource& samples() const { return *samples_; }
  bool is_sequence() const { return !carries_.empty(); }

  /// Runs sample `index` again with every tensor in sight: the first one in graph order that is not finite. nullopt
  /// when there is none: then looking at the tensors changed what the runtime computes. Not for sequences.
  std::optional<NonFinite> first_nonfinite(std::size_t index) const;

 private:
  std::string name_;
  Model model_;
  SessionOptions options_;
  std::shared_ptr<const SampleSource> samples_;
  std::vector<std::pair<std::string, std::string>> carries_;
  std::set<std::string> only_carried_;  // outputs that were not asked for
  Session session_;
  mutable Sample state_;
};

/// Counts of values that are not finite; false when there are none.
bool find_nonfinite(const Tensor& tensor, NonFinite& counts);

/// The runner `index` of the job. Texts for people go to `warn`, each once a job.
std::unique_ptr<LiveRun> make_live_run(const RunOptions& options, std::size_t index, const std::string& name,
                                       const JobSinks& sinks, const std::function<void(const std::string&)>& warn);

/// "onnxrt-runner-N0-11/20/26-23:59:53", as the peer names runners; simulated ones are trt-sim and sim.
std::string runner_name(RunnerKind kind, std::size_t index, std::time_t now);

}  // namespace vernier
