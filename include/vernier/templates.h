// What `vernier template` writes: files to start from, which run as they are.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/format.h"
#include "vernier/onnx_model.h"
#include "vernier/quantize.h"
#include "vernier/sinks.h"

namespace vernier {

/// The plan that quantize() would follow, as JSON for its `plan`; `output` of the options is not looked at. Errors: as
/// quantize().
VERNIER_API std::string plan_template(const QuantizeOptions& options, const JobSinks& sinks = {});

/// A data loader script that yields random samples of the model's inputs; open dimensions are 1.
/// Errors: Input, also for an input that no script can fill (strings, sequences).
VERNIER_API std::string data_loader_template(const OnnxModel& model);

/// A script for --metric-script; its value is the share of the largest elements along the last axis that agree.
VERNIER_API std::string metric_script_template();

/// A script for --postprocess-func-script that hands on the model's outputs one by one. Errors: Input.
VERNIER_API std::string postprocess_script_template(const OnnxModel& model);

/// A script that edits the model with ONNX GraphSurgeon and writes STEM_updated.onnx beside it. The model is not read.
VERNIER_API std::string onnx_gs_template(const OnnxModel& model);

/// An option of a script for TensorRT.
struct TrtSetting {
  const char* name;   // without dashes
  const char* value;  // what it takes, in a word; null: a flag
  const char* help;
  bool many = false;
};
VERNIER_API std::vector<TrtSetting> trt_network_settings();
VERNIER_API std::vector<TrtSetting> trt_config_settings();

/// A script whose load_network() builds a TensorRT network, from the model if there is one. The model is not read.
/// `settings`: of trt_network_settings(). Errors: Usage for a value that cannot be one; for settings of a parsed
/// network without a model.
VERNIER_API std::string trt_network_template(const std::string& model, const EngineSettings& settings = {});

/// A script whose load_config(builder, network) makes a TensorRT builder configuration with these low formats: of
/// float16, bfloat16, int8, float8e4m3fn. `settings`: of trt_config_settings(). `profile`: an optimization profile; an
/// end that is empty is as another, the usual shape first. Errors: Usage for another format, and for a value that
/// cannot be one.
VERNIER_API std::string trt_config_template(const std::set<Format>& formats, const EngineSettings& settings = {},
                                            const std::map<std::string, ShapeRange>& profile = {});

}  // namespace vernier
