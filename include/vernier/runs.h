// What runners gave, sample by sample ("iterations", as the peer's files call them): read from and written to the files
// that Polygraphy's --save-outputs makes, to .npz, and to folders. Iterations are read when they are asked for, so that
// memory does not grow with their number.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/tensor.h"

namespace vernier {

/// The outputs of one runner for one sample, in the order of the model or the file.
struct Iteration {
  std::vector<NamedTensor> outputs;
  std::optional<double> seconds;  // of the inference; absent when it was not measured
};

/// One runner and all its iterations.
class VERNIER_API Run {
 public:
  virtual ~Run() = default;
  /// "onnxrt-runner-N0-11/20/26-23:59:53"
  virtual const std::string& name() const = 0;
  virtual std::size_t size() const = 0;
  /// Iteration `index` < size(). Safe to call from several threads, unless it is_sequence(). Errors: Input, naming
  /// file, iteration and output.
  virtual Iteration at(std::size_t index) const = 0;
  /// True: at() must be called for 0, 1, ... in that order, one at a time. Iterations depend on those before, or on a
  /// device.
  virtual bool is_sequence() const { return false; }
};

/// The runs saved at `path`: results JSON (whatever the extension), a folder of it, or .npz (one run, named after the
/// file; arrays `OUTPUT` are one iteration, `iteration_<i>/OUTPUT` several).
/// Errors: Input, naming the file and the place: no results, not JSON, a pickle, saved inputs, zero iterations.
/// Cost: one pass over the structure; arrays stay in the file.
VERNIER_API std::vector<std::unique_ptr<Run>> open_runs(const std::filesystem::path& path);

/// One that the caller has in memory. Tensors are shared, not copied.
VERNIER_API std::unique_ptr<Run> run_in_memory(std::string name, std::vector<Iteration> iterations);

/// Writes runs iteration by iteration, in any interleaving of runs; each run's iterations come in order. A path that
/// ends in .npz takes one run; one that is a folder, or has no extension, becomes a folder with one file an iteration;
/// anything else becomes one JSON file. Nothing appears under `path` before finish(); a folder must be empty or absent.
class VERNIER_API RunWriter {
 public:
  /// Errors: Usage when the form cannot hold `runs`; Input when the place cannot be written.
  RunWriter(const std::filesystem::path& path, const std::vector<std::string>& runs);
  ~RunWriter();
  RunWriter(const RunWriter&) = delete;
  RunWriter& operator=(const RunWriter&) = delete;

  /// Errors: Input when the disk refuses, or the form cannot hold a type (bfloat16, float8, 4 bits).
  void add(std::size_t run, const Iteration& iteration);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The same for inputs, as the peer's --save-inputs writes them: one feed dictionary a sample. A .npz holds
/// sample_<i>/INPUT. All forms can be given to --data.
class VERNIER_API InputWriter {
 public:
  explicit InputWriter(const std::filesystem::path& path);
  ~InputWriter();
  InputWriter(const InputWriter&) = delete;
  InputWriter& operator=(const InputWriter&) = delete;

  void add(const std::vector<NamedTensor>& inputs);
  void finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace vernier
