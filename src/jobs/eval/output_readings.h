// Ways in which outputs and labels are read wrongly: labels counted from another number or in another order, boxes in
// another order or other units, a sigmoid too few, a threshold. Each is tried on what the network gave for the first
// samples; the network runs once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "io/labels.h"
#include "jobs/eval/task_tally.h"
#include "vernier/eval.h"
#include "vernier/report/check_data.h"
#include "vernier/samples.h"
#include "vernier/tensor.h"

namespace vernier {

class OutputReadings {
 public:
  /// Enough for the figures to tell readings apart.
  static constexpr std::size_t kMostSamples = 64;

  virtual ~OutputReadings() = default;
  /// The outputs of one sample, samples in order.
  virtual void add(std::size_t sample, const Sample& inputs, const std::vector<NamedTensor>& outputs) = 0;
  /// Everything of CheckDataReport that speaks of outputs. Of at least two samples.
  virtual OutputVerdict verdict() const = 0;
};

/// For `task`, which has labels; null where it has no other readings. Classification is judged by which labels are
/// right (a sign test over the samples), detection and segmentation by their first figure. Errors: Input, Usage.
std::unique_ptr<OutputReadings> output_readings(const EvalOptions& task, const std::vector<InputInfo>& inputs,
                                                const SampleCount& samples);

}  // namespace vernier
