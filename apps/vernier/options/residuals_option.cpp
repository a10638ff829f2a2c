#include "options/residuals_option.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "vernier/error.h"
#include "vernier/format.h"

namespace vernier::cli {

void add_residuals_option(CLI::App& app, bool& residuals, const char* group) {
  add_flag(app, "--quantize-residuals", residuals,
           "--target tensorrt: quantize the skip branch of an Add behind a weighted operator too, so that both and "
           "the quantizer behind become one kernel; costs accuracy (default: it stays float)")
      .group(group);
}

void apply_residuals(bool residuals, PrecisionOptions& precision) {
  if (!residuals) return;
  if (precision.target != Target::TensorRt) {
    throw Error(ErrorKind::Usage,
                fmt::format("--quantize-residuals: a rule of --target tensorrt, not of {}", word_of(precision.target)),
                precision.target == Target::OnnxRuntime
                    ? "--target onnxruntime quantizes both inputs of an Add by itself"
                    : "leave it out");
  }
  const bool scaled =
      std::ranges::any_of(precision.low, [](Format format) { return needs_scale(format) && format != Format::Int4; });
  if (precision.rules.weights_only || !scaled) {
    throw Error(ErrorKind::Usage, "--quantize-residuals: no activation is quantized", "add --int8 or --fp8");
  }
  std::vector<std::string>& op_types = precision.selection.op_types;
  if (op_types.empty()) op_types = {"*"};
  op_types.emplace_back("Add");
}

}  // namespace vernier::cli
