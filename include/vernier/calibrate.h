// The job behind `vernier calibrate`: the range of every tensor that low precision quantizes, what was left out of it,
// and whether the samples were enough to know it.
#pragma once

#include <filesystem>
#include <string>

#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/precision.h"
#include "vernier/report/calibrate.h"
#include "vernier/sinks.h"

namespace vernier {

struct CalibrateOptions {
  std::filesystem::path model;
  std::filesystem::path output;  // -o; empty: none
  std::string output_format;     // "vernier", "tensorrt", "onnxruntime"; empty: by the name, .cache and .calib tensorrt
  MeasureOptions measure;        // calibration_cache: read when it is there, else written
  PrecisionOptions precision;    // without low formats: int8
  std::string command;
};

/// Errors: Usage: a method that means nothing for a format; Input: a cache of another model, no layer to quantize;
/// Backend. Memory: one sample a thread, and 100 to 400 kB for each tensor.
VERNIER_API CalibrateReport calibrate(const CalibrateOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
