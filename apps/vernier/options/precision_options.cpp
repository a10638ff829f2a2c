#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <string_view>

#include "base/text.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "scripts/script_location.h"
#include "table/precision.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/precision.h"

namespace vernier::cli {
namespace {

struct FormatFlag {
  std::string_view name;
  Format format;
};
// Lowest first, however they were typed: the record of a run does not depend on it.
constexpr FormatFlag kFlags[] = {{"--nvfp4", Format::NvFp4},      {"--int4", Format::Int4},
                                 {"--int8", Format::Int8},        {"--mxfp8", Format::MxFp8},
                                 {"--fp8", Format::Float8E4M3FN}, {"--int16", Format::Int16},
                                 {"--fp16", Format::Float16},     {"--bf16", Format::BFloat16}};

}  // namespace

void add_precision_options(CLI::App& app, const std::function<PrecisionText&()>& into, const char* method) {
  const IntoTexts texts([into]() -> Texts& { return into().texts; });
  const auto add = [&](const auto& row) { add_row(app, row, table::kPrecision.group, texts).at_once(); };
  table::kPrecision.each([&](const auto& row) {
    const auto flag = std::ranges::find(kFlags, std::string_view(row.words.names), &FormatFlag::name);
    if (flag == std::end(kFlags)) return add(row);
    add_flag(
        app, row.words.names, [into, format = flag->format] { into().flags.push_back(format); }, row.words.help)
        .at_once()
        .group(table::kPrecision.group);
  });
  table::kArithmetic.each(add);
  table::kCalibrationMethod.each([&](auto row) {
    if (method) row.words.names = method;
    add(row);
  });
}

Arithmetic arithmetic_of(const Texts& texts, Target target) {
  Arithmetic arithmetic;
  read_rows(table::kArithmetic, texts, arithmetic);
  arithmetic.tf32 |= arithmetic.accumulate == Accumulate::Float16;
  if (arithmetic != Arithmetic{} && target != Target::TensorRt) {
    throw Error(
        ErrorCode::WithoutEffect,
        fmt::format("{} was measured with TensorRT and does not apply to {}",
                    arithmetic.accumulate == Accumulate::Float16 ? "--accumulate float16" : "--tf32", word_of(target)),
        "leave it out, or --target tensorrt");
  }
  return arithmetic;
}

PrecisionOptions PrecisionText::values() const {
  PrecisionOptions options;
  const auto add_low = [&](Format format) {
    if (std::find(options.low.begin(), options.low.end(), format) == options.low.end()) options.low.push_back(format);
  };
  for (const FormatFlag& flag : kFlags) {
    if (std::ranges::find(flags, flag.format) != flags.end()) add_low(flag.format);
  }
  for (const std::string& text : texts.all("--low")) {
    const Format format = parse_format_name("--low", text);
    if (format == Format::Float32) {
      throw Error(ErrorCode::BadValue, "--low float32: float32 is not a low format",
                  "try --fp16, --bf16, --fp8 or --int8");
    }
    add_low(format);
  }

  read_rows(table::kPrecision, texts, options);
  if (needs_scale(options.high)) {
    throw Error(ErrorCode::BadValue, fmt::format("--precision {}: layers fall back to float32, float16 or bfloat16",
                                                 format_name(options.high)));
  }
  // "--int8 --fp16 -p float16": what a builder may choose from, and what is kept, as users of the peer write it.
  if (options.low.size() > 1) std::erase(options.low, options.high);
  if (std::find(options.low.begin(), options.low.end(), options.high) != options.low.end()) {
    throw Error(ErrorCode::Contradiction,
                fmt::format("{} is both the low and the high format", format_name(options.high)),
                "leave out --precision, or choose a lower format");
  }

  if (options.even_if_slower && options.target != Target::OnnxRuntime) {
    throw Error(ErrorCode::WithoutEffect,
                fmt::format("--even-if-slower belongs to --target onnxruntime, not to {}", word_of(options.target)),
                "leave it out");
  }
  options.arithmetic = arithmetic_of(texts, options.target);
  const std::string& calibration = texts.last(texts.given("--method") ? "--method" : "--calibration-method");
  if (const auto choice = parse_calibration_method(calibration)) {
    options.calibration = *choice;
  } else if (!calibration.empty()) {
    throw Error(ErrorCode::BadValue, fmt::format("--calibration-method: '{}' is not a method", printable(calibration)),
                calibration == "distribution"
                    ? "use minmax, percentile or mse, which also choose among the values of FP8"
                    : "one of: minmax percentile percentile:99.99 entropy mse aciq auto");
  }
  for (const std::string& text : texts.all("--trt-network-postprocess-script")) {
    const auto script = script_location(text, "postprocess");
    if (!script) {
      throw Error(ErrorCode::NoPythonFile,
                  fmt::format("--trt-network-postprocess-script: '{}' names no Python file", printable(text)),
                  "postprocess.py, or postprocess.py:function");
    }
    options.network_scripts.push_back(script->file + ":" + script->function);
  }
  return options;
}

}  // namespace vernier::cli
