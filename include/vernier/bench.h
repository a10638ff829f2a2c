// The job behind `vernier bench`: how long models take on runners, side by side on this machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/graph_optimization.h"
#include "vernier/measure.h"
#include "vernier/report/bench.h"
#include "vernier/run.h"
#include "vernier/sinks.h"

namespace vernier {

struct BenchOptions {
  /// A row each, for each batch. OnnxRuntime, TensorRt (always the engine itself) and OpenVino: a simulation has no
  /// speed worth telling.
  std::vector<RunnerOptions> runners;
  /// Data, calibration and threads. Without data inputs are random, within the bounds of what they index.
  MeasureOptions measure;
  /// Sizes of the first dimension of inputs that leave it open; empty: as the samples have it.
  std::vector<std::int64_t> batches;
  double warm_up_ms = 200;
  std::size_t iterations = 10;                                    // at least
  double seconds = 3;                                             // a row, at least
  std::vector<double> percentiles = {99};                         // beside the median and the spread
  std::vector<std::string> providers;                             // of OnnxRuntime, best first; empty: CPU
  GraphOptimization optimization = GraphOptimization::EnableAll;  // of OnnxRuntime
  EngineRunOptions engine;                                        // Python and time are those of `measure.data`
  bool copies = true;       // also the time with inputs and outputs copied, where they live on a device
  bool cuda_graph = false;  // of TensorRt
  bool layers = false;      // also times of layers, in runs of their own
  std::string command;      // as typed, for the record
};

/// All rows are timed in turns of a few milliseconds, forwards and backwards, so that whatever else the machine does
/// meets all of them.
/// Errors: Usage: runners that have no speed, or a batch where the model fixes it; Input; Backend: an engine that is
/// not there, refuses, crashes or gives times that are none; Interrupted.
VERNIER_API BenchReport bench(const BenchOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
