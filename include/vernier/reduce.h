// The job behind `vernier debug reduce`: from a model that fails a check to the smallest part of it that still does.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "vernier/check.h"
#include "vernier/engine.h"
#include "vernier/export.h"
#include "vernier/external_data.h"
#include "vernier/format.h"
#include "vernier/measure.h"
#include "vernier/onnx_model.h"
#include "vernier/open_shape.h"
#include "vernier/report/reduce.h"
#include "vernier/sinks.h"
#include "vernier/target.h"

namespace vernier {

/// The check that needs no program: the candidate in `low` against itself in float32, simulated under `target`, on the
/// values that its inputs have in the whole model. Bad when an output has less than `min_sqnr_db`.
struct SimulatedCheck {
  Format low = Format::Int8;
  Target target = Target::TensorRt;
  double min_sqnr_db = 20;
  /// An engine that runs each candidate, as the typed file that quantize() would write, in the place of the simulation;
  /// float32 is then a format, too: what the engine itself adds.
  std::optional<MeasureOn> on{};
  EngineRunOptions engine{};
};

struct ReduceOptions {
  OnnxModel model;
  std::filesystem::path output;    // the smallest bad model; empty: a value in the report
  std::filesystem::path min_good;  // a good model near to it in size; empty: not written
  ReduceMode mode = ReduceMode::Bisect;
  bool reduce_outputs = true;
  bool reduce_inputs = true;
  std::map<std::string, OpenShape> input_shapes;  // --model-input-shapes
  ExternalDataOptions external_data;              // the file it names is the output's; candidates choose their own
  MeasureOptions measure;  // samples: values of frozen tensors, and of inputs under a simulated check
  CheckOptions check;
  std::optional<SimulatedCheck> simulated;  // instead of `check`
  std::string command;
};

/// Reads, cuts and checks until nothing smaller fails, and writes what is left. A candidate that does not load is
/// invalid, never bad. Inputs that a cut makes are float tensors; others, and float tensors of branches that the
/// failure does not need, become constants with the values they have on the first sample. With a simulated check, or
/// samples given, and an output, STEM_inputs.json and STEM_outputs.json beside the output hold what the result takes
/// and gives. Errors: Usage, Input, Backend (the check cannot be started), Interrupted (what was found so far is
/// written).
VERNIER_API ReduceReport debug_reduce(const ReduceOptions& options, const JobSinks& sinks = {},
                                      const CheckSinks& check_sinks = {});

}  // namespace vernier
