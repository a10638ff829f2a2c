#include "vernier/quantize.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "commands/commands.h"
#include "console/console.h"
#include "options/engine_group.h"
#include "options/external_data_options.h"
#include "options/modelopt_words.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "options/rules_options.h"
#include "table/precision.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/precision.h"
#include "vernier/quantization.h"
#include "vernier/report/quantize.h"

namespace vernier::cli {
namespace {

struct QuantizeLine {
  std::string model, output;
  Texts texts;
  bool json = false;
  ExternalDataGroup external_data;
  EngineGroup engine;
  PrecisionGroup precision;
  DataGroup data;
  std::vector<std::string> words_without_effect;
  MessageGroup messages;
};

void add_options(CLI::App& app, QuantizeLine& line) {
  add_row(app, table::kQuantizeMode, "Precision", line.texts);
  line.precision.add(app);
  add_rows(app, table::kSelection, line.texts);
  add_rows(app, table::kRules, line.texts);
}

[[noreturn]] void refuse(ErrorCode code, const std::string& what, const std::string& hint) {
  throw Error(code, what, hint);
}

/// Adds what --quantize-mode says to the formats asked for.
void apply_mode(const std::string& mode, PrecisionOptions& precision) {
  const bool none = precision.low.empty() && !precision.rules.kv_cache;
  const std::string chosen = mode.empty() && none ? "int8" : mode;
  if (chosen.empty()) return;
  std::string known = parse_choice(
      "--quantize-mode", chosen,
      {"int8", "fp8", "int4", "int8-weight-only", "int8_weight_only", "fp8-weight-only", "nvfp4-weight-only",
       "mxfp8-weight-only", "uint4", "int16", "nvfp4", "mxfp8", "mxfp4", "dynamic-int8"});
  for (const std::string_view ending : {"-weight-only", "_weight_only"}) {
    if (!known.ends_with(ending)) continue;
    known.erase(known.size() - ending.size());
    precision.rules.weights_only = true;
  }
  const Format format = parse_format(known).value();
  const auto there = std::find(precision.low.begin(), precision.low.end(), format);
  if (there == precision.low.end()) precision.low.insert(precision.low.begin(), format);
  std::stable_sort(precision.low.begin(), precision.low.end(),
                   [](Format a, Format b) { return bits_of(a) < bits_of(b); });
}

void apply_activations(const Texts& texts, PrecisionOptions& precision) {
  const bool symmetric = texts.given("--symmetric"), asymmetric = texts.given("--asymmetric");
  if (symmetric && asymmetric)
    refuse(ErrorCode::Contradiction, "--symmetric and --asymmetric: choose one", "leave out one of them");
  if (!symmetric && !asymmetric) return;
  const bool has_codes_from_zero =
      std::find(precision.low.begin(), precision.low.end(), Format::UInt8) != precision.low.end();
  if (asymmetric && precision.target == Target::TensorRt && !has_codes_from_zero) {
    refuse(ErrorCode::WithoutEffect, "--asymmetric: TensorRT supports only zero point 0",
           "--target openvino and --target onnxruntime support asymmetric activations");
  }
  precision.rules.symmetric_activations = symmetric;
}

void apply_bias(const std::string& text, PrecisionOptions& precision) {
  if (text.empty()) return;
  const bool integer = parse_choice("--bias", text, {"int32", "float"}) == "int32";
  if (integer && precision.target != Target::OnnxRuntime) {
    refuse(ErrorCode::WithoutEffect,
           fmt::format("--bias int32: {} adds biases in float",
                       precision.target == Target::OpenVino ? "OpenVINO" : "TensorRT"),
           "--target onnxruntime stores biases in int32");
  }
  precision.rules.integer_bias = integer;
}

QuantizeOptions options_of(const QuantizeLine& line) {
  if (line.output.empty()) refuse(ErrorCode::MissingArgument, "vernier quantize: -o is missing", "-o out.onnx");
  const Texts& texts = line.texts;
  if (texts.given("--per-tensor") && texts.given("--per-channel"))
    refuse(ErrorCode::Contradiction, "--per-tensor and --per-channel: choose one", "leave out one of them");
  if (texts.given("--dq-only") && texts.given("--add-qdq-pair-to-weight")) {
    refuse(ErrorCode::Contradiction,
           "--dq-only and --add-qdq-pair-to-weight: weights are stored either quantized or in float",
           "leave out one of them");
  }
  QuantizeOptions options;
  options.model = line.model;
  options.output = line.output;
  options.precision = line.precision.values();
  QuantizationRules& rules = options.precision.rules;
  read_rows(table::kRules, texts, rules);
  apply_mode(texts.last("--quantize-mode"), options.precision);
  apply_activations(texts, options.precision);
  apply_bias(texts.last("--bias"), options.precision);
  apply_reduce_range(texts.given("--reduce-range"), options.precision);
  check_weight_bits(options.precision);
  if (texts.given("--block-size") && std::ranges::none_of(options.precision.low, [&](Format format) {
        const bool wide = format == Format::Int16 || format == Format::UInt16;
        return format == Format::Int4 || format == Format::UInt4 || (wide && rules.weight_bits == 4);
      })) {
    refuse(ErrorCode::WithoutEffect, "--block-size has no effect without INT4 or UINT4 weights",
           "add --quantize-mode int4");
  }
  if (rules.block_size % 32 != 0 || rules.block_size == 96) {
    refuse(ErrorCode::BadValue,
           fmt::format("--block-size {}: engines support blocks of 32, 64 or 128", rules.block_size),
           "--block-size 64");
  }
  if (rules.paired_weights && options.precision.high != Format::Float32) {
    refuse(ErrorCode::WithoutEffect,
           "--add-qdq-pair-to-weight: with --high-precision-dtype float16 or bfloat16, weights are always stored "
           "quantized",
           "leave out one of them");
  }
  read_rows(table::kSelection, texts, options.precision.selection);
  apply_residuals(texts.given("--quantize-residuals"), options.precision);
  options.measure = line.data.values();
  options.tensor_overrides = texts.last("--tensor-overrides");
  options.external_data = line.external_data.values();
  options.compile = line.engine.values_if_asked(options.measure.data);
  return options;
}

}  // namespace

Command add_quantize(CLI::App& root) {
  auto line = std::make_shared<QuantizeLine>();
  CLI::App& app =
      add_command(root, "quantize", "Quantize a float model: calibrate, and write Q/DQ pairs that engines fuse");
  add_argument(app, "MODEL", line->model, "ONNX file, float, or a script that makes it: loader.py[:FUNC]");
  add_options(app, *line);
  line->data.add(app, "Samples to calibrate activations on; not needed for weights only");
  line->data.add_calibration_cache(app);
  line->data.add_no_cache(app);
  add_value(app, "-o,--output", line->output, "FILE", "File to write (required)").writes().group("Output");
  line->external_data.add(app);
  line->engine.add_behind_compile(app);
  add_flag(app, "--json", line->json, "Print the result as JSON, and nothing else, on stdout").group("Output");
  add_words_of_modelopt(app, line->words_without_effect);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Example: vernier quantize model.onnx --data samples.npz --target onnxruntime --nodes-to-exclude 'head*' "
             "-o quantized.onnx\nExit code: 0 done, with or without warnings; 2 usage; 3 input; 4 backend; 70 internal "
             "error; 130 interrupted");

  return {&app, &line->messages,
          [line](Console& console) {
            for (const std::string& text :
                 line->data.without_effect(line->precision.any_script() || line->engine.compile)) {
              console.warning(text);
            }
            for (const std::string& text : line->engine.without_effect()) console.warning(text);
            for (const std::string& text : line->words_without_effect) console.warning(text);
            const QuantizeOptions options = options_of(*line);
            require_writable_file(options.output);
            const QuantizeResult result = quantize(options, console.sinks());
            print_result(console, line->json ? result_to_json(result) : result_to_text(result, text_options(console)));
            return exit_code_of(result);
          },
          ignored,
          /*spreads=*/true};
}

}  // namespace vernier::cli
