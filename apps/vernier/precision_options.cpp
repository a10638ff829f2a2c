#include <fmt/format.h>

#include <algorithm>

#include "options.h"
#include "parse_values.h"
#include "vernier/error.h"

namespace vernier::cli {
namespace {

const char* const kGroup = "Precision";

}  // namespace

void PrecisionGroup::add(CLI::App& app) {
  app.add_flag("--int8", int8_.given, "Try INT8: Q/DQ with calibrated scales")->group(kGroup);
  app.add_flag("--fp8", fp8_.given, "Try FP8 (E4M3): Q/DQ with calibrated scales, as engines run it")->group(kGroup);
  app.add_flag("--fp16", fp16_.given, "Try FP16: casts")->group(kGroup);
  app.add_flag("--bf16", bf16_.given, "Try BF16: casts")->group(kGroup);
  add_values(app, "--low", low_, "FORMAT",
             "Low formats by name: float16 bfloat16 float8e4m3fn float8e5m2 int8 uint8. Several low formats may be "
             "given: each layer takes the lowest it can")
      ->group(kGroup);
  add_value(app, "-p,--precision,--high,--high-precision-dtype", high_, "FORMAT",
            "What layers fall back to: float32, float16 or bfloat16 (default: float32)")
      ->group(kGroup);
  add_values(app, "--layer-precisions", layer_precisions_, "NAME:FORMAT",
             "Formats of single layers. Shell wildcards; the last ':' separates; later ones win (default: none)")
      ->group(kGroup);
  add_value(app, "--precision-constraints", constraints_, "MODE",
            "What --layer-precisions means. obey: exactly these, or an error. prefer: where possible, else low with a "
            "warning. none: ignored, and listed (default: prefer)")
      ->group(kGroup);
  add_value(app, "--target", target_, "TARGET",
            "Whose rules place low precision. tensorrt: inputs of weighted operators. onnxruntime: with --int8, inputs "
            "and outputs of "
            "every operator that has an integer kernel on its CPU (default: tensorrt)")
      ->group(kGroup);
}

bool PrecisionGroup::any_low() const {
  return int8_.given || fp8_.given || fp16_.given || bf16_.given || !low_.empty();
}

PrecisionOptions PrecisionGroup::values() const {
  PrecisionOptions options;
  const auto add_low = [&](Format format) {
    if (std::find(options.low.begin(), options.low.end(), format) == options.low.end()) options.low.push_back(format);
  };
  for (const LowFlag& flag : {int8_, fp8_, fp16_, bf16_}) {
    if (flag.given) add_low(flag.format);
  }
  for (const std::string& text : low_) {
    const Format format = parse_format_name("--low", text);
    if (format == Format::Int4) {
      throw Error(ErrorKind::Usage, "--low int4: 4-bit weights are not implemented yet", "--int8 is the lowest format");
    }
    if (format == Format::Float32) {
      throw Error(ErrorKind::Usage, "--low float32: float32 is not a low format",
                  "try --fp16, --bf16, --fp8 or --int8");
    }
    add_low(format);
  }

  options.high = parse_format_name("--precision", high_);
  if (needs_scale(options.high)) {
    throw Error(ErrorKind::Usage, fmt::format("--precision {}: layers fall back to float32, float16 or bfloat16",
                                              format_name(options.high)));
  }
  if (std::find(options.low.begin(), options.low.end(), options.high) != options.low.end()) {
    throw Error(
        ErrorKind::Usage,
        fmt::format("{} is both the low and the high format: there is nothing to compare", format_name(options.high)),
        "leave out --precision, or choose a lower format");
  }

  if (target_ == "openvino") {
    throw Error(ErrorKind::Usage, "--target openvino: its placement rules are not implemented yet",
                "--target onnxruntime is the nearest; --target tensorrt is the default");
  }
  options.target = parse_choice("--target", target_, {"tensorrt", "onnxruntime"});
  options.constraints = parse_choice("--precision-constraints", constraints_, {"obey", "prefer", "none"});
  for (const std::string& text : layer_precisions_) {
    auto [name, format] = parse_pair("--layer-precisions", text, "NAME:FORMAT");
    options.layer_precisions.emplace_back(std::move(name), parse_format_name("--layer-precisions", format));
  }
  return options;
}

}  // namespace vernier::cli
