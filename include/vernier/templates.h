// What `vernier template` writes: files to start from, which run as they are.
#pragma once

#include <set>
#include <string>

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

/// A script whose load_network() builds a TensorRT network, from the model if there is one. The model is not read.
VERNIER_API std::string trt_network_template(const std::string& model);

/// A script whose load_config(builder, network) makes a TensorRT builder configuration with these low formats: of
/// float16, bfloat16, int8, float8e4m3fn. Errors: Usage for another.
VERNIER_API std::string trt_config_template(const std::set<Format>& formats);

}  // namespace vernier
