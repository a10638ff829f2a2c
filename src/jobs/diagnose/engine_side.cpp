#include "jobs/diagnose/engine_side.h"

#include <fmt/format.h>

#include "distributed/ranks.h"
#include "jobs/common/calibrated_plan.h"
#include "jobs/common/typed_file.h"
#include "jobs/diagnose/layer_times.h"
#include "jobs/engine/engine_runner.h"
#include "plan/lower_typed.h"
#include "plan/scheme.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/target.h"

namespace vernier {

void require_engine(const DiagnoseOptions& options, const JobSinks& sinks) {
  const char* const option = options.trials_on_engine ? "‹on›" : "‹confirm-on›";
  if (!job_ranks().alone()) {
    throw Error(ErrorCode::WithoutEffect, fmt::format("{}: one process has the engine", option),
                "run it without mpirun");
  }
  if (options.search.check) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("{}: an outside check itself decides where it runs the model", option),
                fmt::format("leave out {}, or let a requirement, labels or a metric script decide", option));
  }
  if (*options.confirm_on == MeasureOn::OnnxRuntime) return;
  EngineRunner::require(options_for(*options.confirm_on, options.engine), sinks);
}

LayerTimes times_on_engine(const DiagnoseOptions& options, const Loaded& loaded, const Model& low,
                           const JobSinks& sinks, std::string& engine) {
  const auto runner = EngineRunner::require(options_for(*options.confirm_on, options.engine), sinks);
  engine = runner->text();
  return measure_layer_times(*runner, as_typed_file(*loaded.original), as_typed_file(low), *loaded.subject.samples);
}

EngineReport compile_typed(Compiler& compiler, const Loaded& loaded, const Plan& all_low, TypedResult& typed) {
  const Sample first = loaded.samples->at(0);
  EngineReport report = compiler.try_compile(as_typed_file(typed.model()), first);
  if (all_low.target != Target::TensorRt || !compiled_below_float16(report)) return report;
  PrecisionOptions half;
  half.low = {Format::Float16};
  const Plan plan = assign_formats(loaded.subject.model, loaded.subject.layers, half).plan;
  const EngineReport other = compiler.try_compile(as_typed_file(typed.lowered(plan).model), first);
  if (other.refused.empty()) report.float16_kernels = other.kernels.size();
  return report;
}

}  // namespace vernier
