// Of two files that run as one graph: which of them does not run.
#pragma once

#include "jobs/common/sources.h"
#include "model/model.h"
#include "vernier/error.h"
#include "vernier/onnx_model.h"

namespace vernier {

/// `error`, of `float_model` and `typed` side by side, or that of `typed` alone where it does not run alone either: the
/// graph of both has the name of the float model. Cost: loads both again, and runs one sample.
Error fault_of_file(const Error& error, const Model& typed, const OnnxModel& float_model, Sources& sources);

}  // namespace vernier
