// The job behind `vernier calibrate`: the range of every tensor that low precision quantizes, what was left out of it,
// and whether the samples were enough to know it.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/precision.h"
#include "vernier/report/calibrate.h"
#include "vernier/sinks.h"
#include "vernier/words.h"

namespace vernier {

/// Files of ranges: ours, TensorRT's calibration cache, ONNX Runtime's JSON. "vernier", "tensorrt", "onnxruntime".
enum class RangesForm { Vernier, TensorRt, OnnxRuntime };
VERNIER_API std::span<const std::string_view> words_of(RangesForm which);

struct CalibrateOptions {
  OnnxModel model;
  std::filesystem::path output;           // -o; empty: none
  std::optional<RangesForm> output_form;  // absent: by the name, .cache and .calib are TensorRT's
  MeasureOptions measure;                 // calibration_cache: read when it is there, else written
  PrecisionOptions precision;             // without low formats: int8
  std::string command;
};

/// Errors: Usage: a method that means nothing for a format; Input: a cache of another model, no layer to quantize;
/// Backend. Memory: one sample a thread, and 100 to 400 kB for each tensor.
VERNIER_API CalibrateReport calibrate(const CalibrateOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
