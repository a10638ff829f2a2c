// The check of `debug reduce` that needs no program: a part of the model in low precision, simulated, against itself
// in float32, on the values that its inputs have in the whole model. Or on an engine in the place of the simulation.
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "jobs/engine/engine_runner.h"
#include "model/model.h"
#include "search/oracle.h"
#include "vernier/reduce.h"
#include "vernier/samples.h"
#include "vernier/sinks.h"

namespace vernier {

class Runtime;

class SimCheck {
 public:
  SimCheck(const SimulatedCheck& check, std::shared_ptr<const Runtime> runtime, std::size_t threads,
           const JobSinks& sinks)
      : check_(check), runtime_(std::move(runtime)), threads_(threads), sinks_(sinks) {}

  /// Bad when an output is below the threshold; `metric` is the worst output's SQNR in dB, over all samples.
  /// Errors: Interrupted; Backend: the engine does not start. A part that does not run is Invalid.
  Trial judge(const Model& part, const SampleSource& samples);

  /// One look at the whole model in simulation, for choosing parts.
  struct Guide {
    double worst_db = std::numeric_limits<double>::infinity();  // of the whole model's outputs
    struct Row {
      std::string layer;
      std::vector<std::string> outputs;
      double arrived_db;  // at its outputs, all that comes before it low, too
      double own_db;      // of its outputs on exact inputs; +inf for layers that stay high
    };
    std::vector<Row> rows;  // in graph order; none where the whole model passes, unless an engine decides
  };
  /// Two passes over the samples: lock-step, and own errors. Errors: as measuring a model.
  Guide guide(const Model& whole, const SampleSource& samples) const;

 private:
  SimulatedCheck check_;
  std::shared_ptr<const Runtime> runtime_;
  std::size_t threads_;
  JobSinks sinks_;
  std::shared_ptr<EngineRunner> engine_;  // null: none, ONNX Runtime, or to be started
};

}  // namespace vernier
