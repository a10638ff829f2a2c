// `vernier check data`: do the inputs look like what the network was trained on? From the float model alone.
#pragma once

#include <optional>

#include "vernier/eval.h"
#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/report/check_data.h"
#include "vernier/sinks.h"

namespace vernier {

struct CheckDataOptions {
  OnnxModel model;
  std::optional<EvalOptions> task;  // labels, and how outputs are read; its models, samples and requirements are not
  MeasureOptions measure;           // at most 16 samples are looked at (64 with labels) unless a limit is set
};

/// Tries the usual mistakes on image inputs: channels in the other order, 0..1 against 0..255, ImageNet's mean and
/// deviation given or left out, -1..1, and another layout than the network's. What decides: labels of a classifier
/// where there are some; else statistics of BatchNormalization that the file still has; else the confidence of an
/// output that looks like classes, which is weaker and needs a larger gain. Cost: one run of the samples for each
/// reading, ten at most.
///
/// Then those behind the network. Without labels: scores that went through a softmax or a sigmoid twice. With labels of
/// classification, detection or segmentation: labels shifted by one, classes in another order, boxes in another order
/// or other units, scores without their sigmoid, thresholds. Cost: one run of the samples. Errors: Input, Usage,
/// Backend.
VERNIER_API CheckDataReport check_data(const CheckDataOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
