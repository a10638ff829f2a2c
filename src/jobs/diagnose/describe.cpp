#include "jobs/diagnose/describe.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/machine.h"
#include "base/version.h"
#include "model/prepare.h"
#include "plan/scheme.h"
#include "vernier/engine.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"

namespace vernier {

bool times_on_engine(const DiagnoseOptions& options) {
  return options.confirm_on && *options.confirm_on != MeasureOn::OnnxRuntime;
}

void describe(const DiagnoseOptions& options, DiagnoseReport& report) {
  if (options.precision.low.empty()) {
    throw Error(ErrorCode::MissingArgument, "no low precision was chosen", "pass ‹int8›, ‹fp16›, ‹bf16› or ‹fp8›");
  }
  const auto without_kernels =
      std::find_if(options.precision.low.begin(), options.precision.low.end(),
                   [](Format format) { return format != Format::Int8 && format != Format::UInt8; });
  if (options.search.cost == CostUnit::Time && !times_on_engine(options) &&
      without_kernels != options.precision.low.end()) {
    throw Error(
        ErrorCode::WithoutEffect,
        fmt::format("‹cost› time: ONNX Runtime's CPU kernels compute {} in FP32, so their time is meaningless",
                    format_title(*without_kernels)),
        "‹cost› macs or ‹cost› bytes; time works with ‹int8›, or on an engine: ‹vernier diagnose --confirm-on›, "
        "‹vernier debug precision --on›");
  }
  report.command = options.command;
  report.vernier_version = vernier_version();
  report.onnx_version = onnx_version();
  report.machine = machine_text();
  report.target = options.precision.target;
  report.low = options.precision.low;
  report.high = options.precision.high;
  report.requirement = options.measure.requirement;
  report.weights_per_tensor =
      !options.precision.rules.weights_per_channel && std::ranges::any_of(options.precision.low, needs_scale);
  report.scheme = scheme_text(options.precision);
  report.runner = options.precision.target == Target::TensorRt
                      ? "trt-sim"
                      : fmt::format("sim-{}", word_of(options.precision.target));
  report.calibrated_on_evaluation_samples = !options.measure.calibration_data.has_value();
}

}  // namespace vernier
