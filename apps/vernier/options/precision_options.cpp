#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "base/text.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/format.h"
#include "vernier/precision.h"

namespace vernier::cli {
namespace {

const char* const kPrecisionGroup = "Precision";

}  // namespace

void add_precision_options(CLI::App& app, const std::function<PrecisionText&()>& into, const char* method) {
  const auto flag = [&](const char* name, Format format, const char* help) {
    add_flag(
        app, name, [into, format] { into().flags.push_back(format); }, help)
        .at_once()
        .group(kPrecisionGroup);
  };
  const auto value = [&](const char* names, std::string PrecisionText::*member, const char* value_name,
                         const char* help) {
    static const PrecisionText defaults;
    add_value(
        app, names, [into, member](const std::string& text) { into().*member = text; }, value_name, help,
        defaults.*member)
        .at_once()
        .group(kPrecisionGroup);
  };
  const auto values = [&](const char* name, std::vector<std::string> PrecisionText::*member, const char* value_name,
                          const char* help) {
    add_values(
        app, name,
        [into, member](const std::vector<std::string>& texts) {
          std::vector<std::string>& list = into().*member;
          list.insert(list.end(), texts.begin(), texts.end());
        },
        value_name, help)
        .at_once()
        .group(kPrecisionGroup);
  };
  flag("--int8", Format::Int8, "Try INT8: Q/DQ with calibrated scales");
  flag("--fp8", Format::Float8E4M3FN, "Try FP8 (E4M3): Q/DQ with calibrated scales, as engines run it");
  flag("--int4", Format::Int4,
       "Try INT4: weights of Gemm and MatMul in blocks of up to 128 values, computed in the high format");
  flag("--fp16", Format::Float16, "Try FP16: casts");
  flag("--bf16", Format::BFloat16, "Try BF16: casts");
  values("--low", &PrecisionText::low, "FORMAT",
         "Low formats by name: float16 bfloat16 float8e4m3fn float8e5m2 int8 uint8 int4. Several low formats may be "
         "given: each layer takes the lowest it can");
  value("-p,--precision,--high,--high-precision-dtype", &PrecisionText::high, "FORMAT",
        "What layers fall back to: float32, float16 or bfloat16 (default: float32)");
  values("--layer-precisions", &PrecisionText::layer_precisions, "NAME:FORMAT",
         "Formats of single layers. Shell wildcards; the last ':' separates; later ones win (default: none)");
  value("--precision-constraints", &PrecisionText::constraints, "MODE",
        "What --layer-precisions means. obey: exactly these, or an error. prefer: where possible, else low with a "
        "warning, names that no layer has too. none: ignored, and listed (default: prefer)");
  values("--trt-network-postprocess-script,--trt-npps,--trt-network-func-script", &PrecisionText::network_scripts,
         "FILE[:FUNC]",
         "Python scripts whose FUNC(network=...) sets layer.precision on a TensorRT network, in this order: what they "
         "set wins over --layer-precisions (default: none; FUNC: postprocess)");
  value(
      "--target", &PrecisionText::target, "TARGET",
      "Whose rules place low precision. tensorrt: inputs of weighted operators. openvino: the same, with --int8 in "
      "asymmetric codes. onnxruntime: with --int8, inputs and outputs of operators where its integer kernels save time "
      "on the CPU (default: tensorrt)");
  add_flag(
      app, "--even-if-slower", [into] { into().even_if_slower = true; },
      "--target onnxruntime: quantize every operator that has an integer kernel, also where that gains no time")
      .at_once()
      .group(kPrecisionGroup);
  add_arithmetic_options(app, kPrecisionGroup, [into]() -> ArithmeticText& { return into().arithmetic; });
  value(
      method, &PrecisionText::calibration, "METHOD",
      "How ranges of activations are chosen: minmax, percentile[:99.99] (99.999 without a number), entropy, mse, aciq; "
      "auto: for each tensor the one of these with the least error of the layers that read it (default: minmax)");
}

void add_arithmetic_options(CLI::App& app, const std::string& group, const std::function<ArithmeticText&()>& into) {
  add_value(
      app, "--accumulate", [into](const std::string& text) { into().accumulate = text; }, "FORMAT",
      "--target tensorrt: what FP16 convolutions keep their sums in. float16: as TensorRT-RTX was measured to, rounded "
      "every 16 products, in FP16 and BF16 also before the bias is added, and with --tf32; what is required must hold "
      "with both (default: float32)",
      ArithmeticText{}.accumulate)
      .at_once()
      .group(group);
  add_flag(
      app, "--tf32", [into] { into().tf32 = true; },
      "--target tensorrt: Conv, ConvTranspose, Gemm and MatMul in float32 read ten bits of mantissa")
      .at_once()
      .group(group);
}

Arithmetic ArithmeticText::values(Target target) const {
  Arithmetic arithmetic;
  arithmetic.accumulate = parse_choice<Accumulate>("--accumulate", accumulate);
  arithmetic.tf32 = tf32 || arithmetic.accumulate == Accumulate::Float16;
  if (arithmetic != Arithmetic{} && target != Target::TensorRt) {
    throw Error(
        ErrorKind::Usage,
        fmt::format("{}: it was measured with TensorRT, and says nothing of {}",
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
  // Lowest first, however they were typed: the record of a run does not depend on it.
  for (const Format format : {Format::Int4, Format::Int8, Format::Float8E4M3FN, Format::Float16, Format::BFloat16}) {
    if (std::find(flags.begin(), flags.end(), format) != flags.end()) add_low(format);
  }
  for (const std::string& text : low) {
    const Format format = parse_format_name("--low", text);
    if (format == Format::Float32) {
      throw Error(ErrorKind::Usage, "--low float32: float32 is not a low format",
                  "try --fp16, --bf16, --fp8 or --int8");
    }
    add_low(format);
  }

  options.high = parse_format_name("--precision", high);
  if (needs_scale(options.high)) {
    throw Error(ErrorKind::Usage, fmt::format("--precision {}: layers fall back to float32, float16 or bfloat16",
                                              format_name(options.high)));
  }
  // "--int8 --fp16 -p float16": what a builder may choose from, and what is kept, as users of the peer write it.
  if (options.low.size() > 1) std::erase(options.low, options.high);
  if (std::find(options.low.begin(), options.low.end(), options.high) != options.low.end()) {
    throw Error(
        ErrorKind::Usage,
        fmt::format("{} is both the low and the high format: there is nothing to compare", format_name(options.high)),
        "leave out --precision, or choose a lower format");
  }

  options.target = parse_choice<Target>("--target", target.empty() ? "tensorrt" : target);
  options.even_if_slower = even_if_slower;
  if (even_if_slower && options.target != Target::OnnxRuntime) {
    throw Error(ErrorKind::Usage,
                fmt::format("--even-if-slower: a choice of --target onnxruntime, not of {}", word_of(options.target)),
                "leave it out");
  }
  options.arithmetic = arithmetic.values(options.target);
  if (const auto choice = parse_calibration_method(calibration)) {
    options.calibration = *choice;
  } else {
    throw Error(ErrorKind::Usage, fmt::format("--calibration-method: '{}' is no method", printable(calibration)),
                calibration == "distribution"
                    ? "it chooses among the values of float8; minmax, percentile or mse do so too"
                    : "one of: minmax percentile percentile:99.99 entropy mse aciq auto");
  }
  options.constraints = parse_choice<PrecisionConstraints>("--precision-constraints", constraints);
  for (const std::string& text : layer_precisions) {
    auto [name, format] = parse_pair("--layer-precisions", text, "NAME:FORMAT");
    options.layer_precisions.emplace_back(std::move(name), parse_format_name("--layer-precisions", format));
  }
  for (const std::string& text : network_scripts) {
    const auto script = script_location(text, "postprocess");
    if (!script) {
      throw Error(ErrorKind::Usage,
                  fmt::format("--trt-network-postprocess-script: '{}' names no Python file", printable(text)),
                  "postprocess.py, or postprocess.py:function");
    }
    options.network_scripts.push_back(script->file + ":" + script->function);
  }
  return options;
}

}  // namespace vernier::cli
