// Is a typed model right, layer by layer?
#pragma once

#include <optional>
#include <string>

#include "vernier/arithmetic.h"
#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/report/verify.h"
#include "vernier/search_options.h"
#include "vernier/sinks.h"
#include "vernier/target.h"

namespace vernier {

struct VerifyOptions {
  OnnxModel float_model;
  OnnxModel typed_model;
  MeasureOptions measure;
  Target target = Target::TensorRt;  // that the file is for
  Arithmetic arithmetic;             // of the target
  TaskRequirement task;              // beside the figures: what decides, in the place of a requirement
  std::optional<MeasureOn> on;       // also run there: its figures are beside the simulated ones, and decide
  EngineRunOptions engine;           // of `on`
  bool layers_on_engine = true;      // there also layer by layer, which builds the engine twice
  std::string command;
};

/// Reloads a typed file (ours or anyone's), simulates what the file says, and measures it layer by layer. For TensorRT
/// a file with layers in float16 or bfloat16 is measured with sums in float32 and with those that were measured there;
/// `arithmetic` says which of them decides. With sums in float16 the worse of both does.
VERNIER_API VerifyReport verify(const VerifyOptions& options, const JobSinks& sinks = {});

}  // namespace vernier
