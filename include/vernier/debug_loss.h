// The job behind `vernier debug loss`: what a quantized file loses against its float model, tensor by tensor and
// quantizer by quantizer, and the mistakes in its Q/DQ pairs that can be seen without running it.
#pragma once

#include <string>

#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/report/debug_loss.h"
#include "vernier/sinks.h"
#include "vernier/target.h"

namespace vernier {

struct DebugLossOptions {
  OnnxModel float_model;
  OnnxModel quantized_model;
  MeasureOptions measure;
  std::string command;
  bool checked = false;                 // verify() has looked at its nodes, and at what saturates
  Target target = Target::OnnxRuntime;  // what it alone refuses ends nothing here
};

/// Errors: Input, Backend; Usage for a file whose operators are quantized themselves (QLinearConv), with what to do.
VERNIER_API DebugLossReport debug_loss(const DebugLossOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
