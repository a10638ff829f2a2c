// The job behind `vernier inspect capability`: which nodes of a model an engine takes, and the model cut up by that.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "vernier/export.h"
#include "vernier/onnx_model.h"
#include "vernier/report/capability.h"
#include "vernier/sinks.h"
#include "vernier/target.h"

namespace vernier {

struct CapabilityOptions {
  OnnxModel model;
  std::filesystem::path external_data_dir;  // as in MeasureOptions
  Target target = Target::TensorRt;
  std::filesystem::path output;  // folder for the parts; empty: not written
  /// The Python whose TensorRT, TensorRT-RTX or OpenVINO is asked; where it has none, the published list answers.
  std::string python = "python3";
  double seconds = 600;                                 // that an answer of it may take
  std::vector<std::filesystem::path> custom_operators;  // as in MeasureOptions
  std::vector<std::filesystem::path> plugins;           // as in CompileOptions
};

/// Errors: Input; Backend when ONNX Runtime is missing.
VERNIER_API CapabilityReport inspect_capability(const CapabilityOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
