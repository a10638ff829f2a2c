// What a task makes of a network's outputs, sample by sample. One file a group of tasks; the formulas are in src/tasks.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "io/labels.h"
#include "vernier/eval.h"
#include "vernier/report/eval.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

class TaskTally {
 public:
  virtual ~TaskTally() = default;
  /// `references`: what the outputs may be compared with, those of another model or stage; empty: nothing is.
  virtual void add(std::size_t sample, const Sample& inputs, const std::vector<NamedTensor>& outputs,
                   const std::vector<NamedTensor>& references) = 0;
  virtual std::vector<TaskFigure> figures() const = 0;
  /// An empty one of the same labels and samples, which reads outputs and labels as `options` say; these must outlive
  /// it. Null where a task has no other readings.
  virtual std::unique_ptr<TaskTally> reading(const EvalOptions& /*options*/) const { return nullptr; }
};

/// `inputs`: of the network, for the size of its images. Errors: Input, Usage.
std::unique_ptr<TaskTally> make_tally(const EvalOptions& options, const std::vector<InputInfo>& inputs,
                                      const SampleCount& samples);

std::unique_ptr<TaskTally> detection_tally(const EvalOptions& options, const std::vector<InputInfo>& inputs,
                                           std::size_t samples);

/// Any float tensor as float32. Errors: Input for other types.
std::vector<float> as_floats(const NamedTensor& output);

/// Errors: Usage when there are not `count` outputs.
void need_outputs(const std::vector<NamedTensor>& outputs, std::size_t count, const char* task);

}  // namespace vernier
