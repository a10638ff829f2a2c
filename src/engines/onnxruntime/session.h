// A model ready to run on ONNX Runtime. Weights are handed over beside the session's message, never inside it. Without
// optimizations the runtime reads them where they lie, small ones of kernels that pack theirs excepted; with them it
// takes a copy for each session (measured: 1.31.1).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engines/onnxruntime/recorder.h"
#include "model/model.h"
#include "model/prepare.h"
#include "vernier/graph_optimization.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

class Runtime;

struct SessionOptions {
  /// All graph optimizations, or none: bit-identity between two runs of a graph holds only with none.
  bool optimize = true;
  /// Threads of one run. Our own loops run several samples side by side instead, each on one thread.
  int threads = 1;
  /// Let the runtime fuse QuantizeLinear/DequantizeLinear into its integer kernels. Off wherever numbers are simulated.
  bool integer_kernels = false;
  /// Of these, those that the runtime takes on x86, whatever machine this is: it makes int8 data uint8 there.
  bool kernels_of_x86 = false;
  /// It runs once or twice: nothing is kept for the next run. What the runtime keeps grows by doubling, to 2.7 times
  /// the weights where a file holds them quantized and they are dequantized in each run.
  bool keeps_no_memory = false;
  /// With the IR version of the model, which the runtime may be too old for; else one that its opset asks for.
  bool ir_as_given = false;
  /// With the optimizers that have known faults (optimizer_faults.h), as users run it: it may end this process.
  bool faulty_optimizers = false;
  /// An output of strings, a sequence or a map comes back as an empty tensor of strings; else it is an error.
  bool any_outputs = false;
  /// In the place of `optimize`; absent: as that says.
  std::optional<GraphOptimization> level = {};
  /// Optimizers of the runtime that are left out, by their names with ';' between.
  std::string left_out = {};
  /// Where the runtime writes how long each node took, once the session ends: this and a date. Empty: nowhere.
  std::string profile = {};
  /// Where the runtime writes the graph as it optimized it, for this machine: not for a session that runs, as weights
  /// stay unpacked. Empty: nowhere.
  std::string optimized = {};
  /// Execution providers, best first, by any part of their names; empty: the runtime's GPU, or the CPU.
  /// "CUDA" alone is the runtime's GPU, too, if it has one, and then with `integer_kernels`.
  std::vector<std::string> providers = {};
  /// Without optimizations and a profile, a larger model runs in parts of so many nodes: the runtime's time to build a
  /// session grows with the square of its nodes (50,000 as one take 4 s, 200,000 take 66 s; measured: 1.31.1).
  std::size_t part_nodes = 4000;
  /// In the place of that: the nodes at which parts begin, for runs that start between them (Session::run_from()). The
  /// first is 0. Empty: as `part_nodes` says.
  std::vector<int> part_starts = {};
};

/// What stands between two parts of a session: all that parts before `part` made and that is still needed.
struct Standing {
  std::size_t part = 0;
  Sample tensors;
};

class Session {
 public:
  /// Errors: Backend with the runtime's text and the model's path.
  Session(std::shared_ptr<const Runtime> runtime, const Model& model, const SessionOptions& options = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  const std::vector<std::string>& input_names() const noexcept;
  const std::vector<std::string>& output_names() const noexcept;

  /// Runs one sample: `inputs` must hold every graph input by name (more are ignored). Outputs in graph order; they
  /// share the runtime's memory until they are dropped. `recorder` receives what our operators see. Safe from several
  /// threads. Errors: Input when an input is missing; Backend with the runtime's text; Interrupted by
  /// end_runs_in_flight().
  std::vector<Tensor> run(const Sample& inputs, Recorder* recorder = nullptr) const;
  /// The same for a batch of as many samples as there are `recorders`, put together along the first dimension: each
  /// receives what our operators see of its sample. Errors: also Backend where one of them sees a tensor that has no
  /// such dimension.
  std::vector<Tensor> run(const Sample& inputs, std::span<Recorder> recorders) const;

  /// How many parts it runs in, one behind the other.
  std::size_t parts() const noexcept;
  /// Whether run_from() can start behind the first part: all that stands between parts is numbers.
  bool can_start_between() const noexcept;
  /// One sample from `start` on, where a run of the same inputs stood; null: from the beginning. `keep`, which may be
  /// empty, is given what stands at the start of each part behind that. Bits: those of run().
  std::vector<Tensor> run_from(const Standing* start, const Sample& inputs, Recorder* recorder,
                               const std::function<void(Standing)>& keep) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Runs `model` once with optimizations off, on the CPU: what prepare() asks for.
std::vector<Tensor> evaluate_exactly(const std::shared_ptr<const Runtime>& runtime, const Model& model,
                                     const Sample& inputs);

/// The same as a function, for prepare() and its steps.
Evaluator evaluator(const std::shared_ptr<const Runtime>& runtime);

}  // namespace vernier
