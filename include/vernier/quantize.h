// A typed model from a float one.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/external_data.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/precision.h"
#include "vernier/report/quantize.h"
#include "vernier/sinks.h"

namespace vernier {

struct QuantizeOptions {
  OnnxModel model;
  std::filesystem::path output;
  std::filesystem::path plan;  // --plan; else made from `precision`
  PrecisionOptions precision;
  MeasureOptions measure;                  // calibration samples for int8 and fp8
  std::filesystem::path tensor_overrides;  // JSON: scales or ranges of single tensors, instead of calibrated ones
  ExternalDataOptions external_data;
  std::optional<CompileOptions> compile;  // what was written, by an engine's own compiler
  /// The output is TensorRT's engine instead of its ONNX file, where `compile` asks for it or TensorRT can run here;
  /// elsewhere the ONNX file gets that name, with a warning.
  bool as_engine = false;
  EngineSettings builder{};                    // what TensorRT is told then
  std::vector<std::filesystem::path> plugins;  // as in CompileOptions, for as_engine without `compile`
};

/// Errors: Usage, Input; Backend: what compiles is not there, crashes or takes too long; Interrupted.
VERNIER_API QuantizeResult quantize(const QuantizeOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
