// Where our operators put what they see during one run: host-side accumulators by slot number. One recorder belongs to
// one sample of one run; runs of the same session may go on in several threads, each with its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "numerics/histogram.h"
#include "numerics/metrics.h"
#include "numerics/round.h"
#include "vernier/tensor.h"

namespace vernier {

struct Recorder {
  std::vector<ErrorStats> errors;   // Compare
  std::vector<RangeStats> ranges;   // Observe
  std::vector<RoundEvents> events;  // Round with a slot
  std::vector<Shape> shapes;        // Compare and Observe: shape last seen, by slot of `errors` or `ranges`
  /// Inject: an operator whose slot is here puts this tensor in the place of its input; all others pass theirs through.
  std::map<std::int64_t, Tensor> injections;
  /// Observe: also counts the values of the slots wanted here; shared by all runs, null: nowhere.
  SharedHistograms* histograms = nullptr;
  /// Switch: what each slot does to its tensor, one rounding after the other; null: all pass theirs through. Outlives
  /// the run.
  const std::vector<std::vector<QuantParams>>* roundings = nullptr;
  std::size_t sample = 0;  // index of the sample that runs, for `histograms`
  /// Shapes, as of one sample, of tensors in which the samples of a batch take turns along the dimension that they
  /// share, each one value of it at a time; null: none. Outlives the run.
  const std::set<Shape>* taking_turns = nullptr;

  Recorder() = default;
  Recorder(std::size_t error_slots, std::size_t range_slots, std::size_t event_slots);
  Recorder& operator+=(const Recorder& other);
};

/// The recorders of the run that this thread is executing, one for each sample that runs; empty outside, and where
/// nobody looks. Nodes of a graph run on the thread that called Run (sequential execution), so this reaches our kernels
/// without any global state.
std::span<Recorder> current_recorders() noexcept;

/// Makes `recorders` current on this thread while in scope.
class RecorderScope {
 public:
  explicit RecorderScope(std::span<Recorder> recorders) noexcept;
  ~RecorderScope();
  RecorderScope(const RecorderScope&) = delete;
  RecorderScope& operator=(const RecorderScope&) = delete;

 private:
  std::span<Recorder> previous_;
};

}  // namespace vernier
