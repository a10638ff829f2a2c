// What marking tensors as outputs changes in an engine: it cannot fuse across what it has to give.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "jobs/engine/engine_runner.h"
#include "model/model.h"
#include "vernier/report/engine.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

/// The engine of a file as it is, on the first sample, to hold the one with marked tensors against.
class UnmarkedEngine {
 public:
  /// Builds `file` on `engine`, and runs the first of `samples`. Errors: as EngineRunner::open() and run().
  UnmarkedEngine(EngineRunner& engine, const Model& file, const SampleSource& samples);

  struct Changes {
    std::string text;      // "marking tensors as outputs changes it: 31 kernels instead of 12; ..."
    bool outputs = false;  // outputs of the file differ
  };
  /// What is otherwise in an engine with marks, which gave `outputs` for the same sample.
  Changes changes(const EngineReport& marked, const std::vector<NamedTensor>& outputs) const;

 private:
  EngineReport report_;
  std::set<std::string> nodes_;  // of the file
  std::vector<NamedTensor> outputs_;
};

}  // namespace vernier
