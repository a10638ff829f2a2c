// Runners that compute: each is a Run whose iterations are inferences, so that the rest of the job sees no difference
// between them and runs from files.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engines/onnxruntime/session.h"
#include "jobs/common/sources.h"
#include "jobs/engine/engine_runner.h"
#include "model/model.h"
#include "vernier/run.h"
#include "vernier/runs.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"
#include "vernier/tensor.h"

namespace vernier {

/// A tensor with values that are not finite.
struct NonFinite {
  std::string tensor;
  std::string layer, op_type;  // of the node that made it; empty for a graph input
  std::int64_t nan = 0, infinite = 0, count = 0;
  std::size_t sample = 0;
};

class LiveRun : public Run {
 public:
  LiveRun(std::string name, std::shared_ptr<const SampleSource> samples)
      : name_(std::move(name)), samples_(std::move(samples)) {}

  const std::string& name() const override { return name_; }
  std::size_t size() const override { return samples_->size(); }
  const SampleSource& samples() const { return *samples_; }
  Iteration at(std::size_t index) const final { return of(index, samples_->at(index)); }
  /// The same for a caller who has read the sample.
  virtual Iteration of(std::size_t index, Sample sample) const = 0;
  /// How many samples together() runs as one, `batch` or 1: where it is 1, `warn` is told why.
  virtual std::size_t samples_at_once(std::size_t batch, const Warn& warn) const;
  /// Iterations from `first` on of these samples, at most samples_at_once().
  virtual std::vector<Iteration> together(std::size_t first, const std::vector<Sample>& samples) const;

  /// Runs sample `index` again with every tensor in sight: the first one in graph order that is not finite. nullopt
  /// when there is none, because looking at the tensors changed what is computed, or the runner cannot be looked into.
  virtual std::optional<NonFinite> first_nonfinite(std::size_t index) const = 0;
  /// Runs all samples again with every tensor in sight, up to the first value that is not finite and is without
  /// roundings. Infinities that are meant, as in a mask, are none of these. Errors: Interrupted.
  virtual std::optional<NonFinite> overflow_inside(const JobSinks& /*sinks*/) const { return std::nullopt; }

 private:
  std::string name_;
  std::shared_ptr<const SampleSource> samples_;
};

/// A network that is run sample by sample. State goes from one iteration to the next.
class NetworkRun : public LiveRun {
 public:
  Iteration of(std::size_t index, Sample sample) const final;
  bool is_sequence() const override { return !carries_.empty(); }

 protected:
  /// Adds the state outputs that `model` does not give to its outputs: they come last, and are not handed on.
  NetworkRun(std::string name, Model& model, std::shared_ptr<const SampleSource> samples,
             std::vector<std::pair<std::string, std::string>> carries);

  /// Outputs in the order of the model's; `seconds` of the inference.
  virtual std::vector<NamedTensor> infer(const Sample& sample, double& seconds) const = 0;

 private:
  std::vector<std::pair<std::string, std::string>> carries_;
  std::set<std::string> only_carried_;  // outputs that were not asked for
  mutable Sample state_;
};

/// A model on ONNX Runtime: as it is, or simulated.
class SessionRun final : public NetworkRun {
 public:
  /// `model` has the outputs that are to be given.
  SessionRun(std::string name, const std::shared_ptr<const Runtime>& runtime, Model model,
             const SessionOptions& options, std::shared_ptr<const SampleSource> samples,
             std::vector<std::pair<std::string, std::string>> carries);

  std::optional<NonFinite> first_nonfinite(std::size_t index) const override;
  std::optional<NonFinite> overflow_inside(const JobSinks& sinks) const override;
  std::size_t samples_at_once(std::size_t batch, const Warn& warn) const override;
  std::vector<Iteration> together(std::size_t first, const std::vector<Sample>& samples) const override;

 private:
  std::vector<NamedTensor> infer(const Sample& sample, double& seconds) const override;
  std::vector<NamedTensor> named(std::vector<Tensor> values) const;
  Session with_every_tensor(Model model) const;
  /// With the layer whose work it is.
  NonFinite placed_in_layer(NonFinite found) const;

  std::shared_ptr<const Runtime> runtime_;
  Model model_;
  SessionOptions options_;
  Session session_;
};

/// Counts of values that are not finite; false when there are none.
bool find_nonfinite(const Tensor& tensor, NonFinite& counts);

/// The runner that measures there; absent: in simulation.
RunnerKind runner_kind(std::optional<MeasureOn> on);

/// The engine of a runner that runs on one; null where it is none's, or where TensorRT was asked for and is not here:
/// why goes to `warn`. Errors: Backend: there must be one; Interrupted.
std::unique_ptr<EngineRunner> engine_of(const RunOptions& options, const RunnerOptions& runner, const JobSinks& sinks,
                                        const Warn& warn);

/// The runner `index` of the job, on `engine` where there is one. `sources` are made of `options.measure`. Texts for
/// people go to `warn`, each once a job.
std::unique_ptr<LiveRun> make_live_run(const RunOptions& options, std::size_t index, const std::string& name,
                                       Sources& sources, const Warn& warn,
                                       std::unique_ptr<EngineRunner> engine = nullptr);

/// "onnxrt-runner-N0-11/20/26-23:59:53", as the peer names runners. TensorRT's are called trt on an engine, or
/// trt-weak where its builder chose the formats, else trt-sim; the others are sim, openvino and exec.
std::string runner_name(const RunnerOptions& runner, bool on_engine, std::size_t index, std::time_t now);

}  // namespace vernier
