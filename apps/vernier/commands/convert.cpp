#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "base/text.h"
#include "commands/commands.h"
#include "console/console.h"
#include "options/engine_group.h"
#include "options/external_data_options.h"
#include "options/options.h"
#include "options/parse_values.h"
#include "options/rows.h"
#include "options/rules_options.h"
#include "scripts/script_location.h"
#include "table/precision.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/quantize.h"
#include "vernier/report/quantize.h"
#include "vernier/report/surgeon.h"
#include "vernier/surgeon.h"

namespace vernier::cli {
namespace {

struct ConvertLine {
  std::string model, output, plan, kind;
  OutputChoice outputs;
  Texts texts;
  bool json = false;
  ExternalDataGroup external_data;
  EngineGroup engine;
  PrecisionGroup precision;
  DataGroup data;
  MessageGroup messages;
};

bool is_engine_name(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  return extension == ".engine" || extension == ".plan" || extension == ".trt";
}

/// By --convert-to, else by the name of the file.
bool writes_engine(const ConvertLine& line) {
  if (line.kind.empty()) return is_engine_name(line.output);
  if (line.kind == "onnx-like-trt-network") {
    throw Error(ErrorCode::NotSupported,
                "--convert-to onnx-like-trt-network: vernier does not write TensorRT's network as ONNX",
                "--convert-to onnx for the typed model");
  }
  return parse_choice("--convert-to", line.kind, {"onnx", "trt"}) == "trt";
}

bool any_low(const ConvertLine& line) { return line.precision.any_low() || line.texts.given("--kv-cache"); }

/// Without a plan or a format the model is written as it is: with other outputs, or its weights in other files.
bool only_copies(const ConvertLine& line) {
  return line.plan.empty() && !any_low(line) && !line.precision.any_script() && !writes_engine(line) &&
         !line.engine.compile && !script_location(line.model);
}

SanitizeOptions copy_of(const ConvertLine& line) {
  SanitizeOptions options;
  options.model = line.model;
  options.outputs = line.outputs;
  options.measure = line.data.values();
  return options;
}

void require_output(const ConvertLine& line) {
  if (line.output.empty()) throw Error(ErrorCode::MissingArgument, "vernier convert: -o is missing", "-o out.onnx");
}

QuantizeOptions options_of(const ConvertLine& line) {
  if (line.plan.empty() == !any_low(line)) {
    throw Error(
        ErrorCode::MissingArgument,
        line.plan.empty() ? "nothing to convert to: neither a plan nor a low format was given"
                          : "--plan and a low format: the plan already holds the format of each layer",
        line.plan.empty() ? "add --plan plan.json, or --int8, --fp16, --bf16 or --fp8" : "leave out one of them");
  }
  if (!line.plan.empty() && line.precision.any_script()) {
    throw Error(ErrorCode::Contradiction,
                "--plan and a network script: the plan already holds the format of each layer",
                "leave out one of them");
  }
  QuantizeOptions options;
  options.model = line.model;
  options.output = line.output;
  options.plan = line.plan;
  options.precision = line.precision.values();
  apply_residuals(line.texts.given("--quantize-residuals"), options.precision);
  read_value(table::kKvCache, line.texts, options.precision.rules.kv_cache);
  options.measure = line.data.values();
  options.external_data = line.external_data.values();
  options.compile = line.engine.values_if_asked(options.measure.data);
  options.as_engine = writes_engine(line);
  options.plugins.assign(line.engine.plugins.begin(), line.engine.plugins.end());
  return options;
}

/// Errors: Usage for a choice that the plan has made already.
void refuse_beside_plan(const CLI::App& app) {
  for (const GivenOption& option : given_options(app)) {
    if (option.group != "Precision" || option.name == "--plan") continue;
    throw Error(ErrorCode::Contradiction,
                fmt::format("--plan and {}: the plan already holds the format and scales of each layer", option.name),
                "leave out one of them, or edit the plan, which is JSON");
  }
}

}  // namespace

Command add_convert(CLI::App& root) {
  auto line = std::make_shared<ConvertLine>();
  CLI::App& app =
      add_command(root, "convert", "Write a strongly typed ONNX model (Cast, Q/DQ) from a plan or from low formats");
  add_argument(app, "MODEL", line->model, "ONNX file, float, or a script that makes it: loader.py[:FUNC]");
  add_value(app, "--plan", line->plan, "FILE", "Plan from diagnose, instead of low formats (default: none)")
      .group("Precision");
  line->precision.add(app);
  add_flag(
      app, "--fp-to-fp16", [line] { line->precision.add_low(Format::Float16); }, "")
      .group("");  // Polygraphy's
  add_row(app, table::kResiduals, "Precision", line->texts);
  add_row(app, table::kKvCache, "Precision", line->texts);
  line->data.add(app, "Samples to calibrate INT8 and FP8 on");
  line->data.add_calibration_cache(app);
  line->data.add_no_cache(app);
  add_value(app, "-o,--output", line->output, "FILE",
            "File to write (required). An engine's name (.engine .plan .trt) writes TensorRT's engine, if TensorRT is "
            "installed or --compile is given; otherwise a typed ONNX model")
      .writes()
      .group("Output");
  const auto outputs = [&](const char* names, std::vector<std::string>& chosen, const char* help) {
    add_values(app, names, chosen, "NAME", help).group("Output");
  };
  outputs("--onnx-outputs", line->outputs.names,
          "Tensors that become outputs: names, wildcards, '*' or: mark all (default: the model's outputs)");
  outputs("--onnx-exclude-outputs", line->outputs.excluded, "Tensors to exclude from that choice (default: none)");
  outputs("--onnx-outputs-by-type", line->outputs.op_types,
          "Also outputs of nodes with these operator types (default: none)");
  add_value(app, "--convert-to", line->kind, "KIND", "onnx or trt, whatever the file's name (default: by its name)")
      .group("Output");
  line->external_data.add(app);
  line->engine.add_behind_compile(app);
  add_flag(app, "--json", line->json, "Print the result as JSON, and nothing else, on stdout").group("Output");
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(app,
             "Without a plan or a low format, the model is written as it is, with the chosen outputs.\nExample: "
             "vernier convert model.onnx --int8 --data samples.npz --layer-precisions 'head*:fp32' -o typed.onnx\nExit "
             "code: 0 done, with or without warnings; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");

  return {&app, &line->messages,
          [line, &app](Console& console) {
            for (const std::string& text :
                 line->data.without_effect(line->precision.any_script() || line->engine.compile ||
                                           writes_engine(*line) || script_location(line->model).has_value()))
              console.warning(text);
            require_output(*line);
            if (only_copies(*line)) {
              require_writable_file(line->output);
              if (line->json)
                throw Error(ErrorCode::WithoutEffect, "--json: nothing to print, because the model is only copied",
                            "leave it out");
              SanitizeOptions copy = copy_of(*line);
              copy.output = line->output;
              copy.external_data = line->external_data.values();
              const SurgeonResult result = sanitize_model(copy, console.sinks());
              print_result(console, result_to_text(result));
              return 0;
            }
            QuantizeOptions options = options_of(*line);
            const bool chosen =
                !line->outputs.names.empty() || !line->outputs.excluded.empty() || !line->outputs.op_types.empty();
            if (chosen) options.model = sanitize_model(copy_of(*line), console.sinks()).model;
            for (const std::string& text : line->engine.without_effect(options.as_engine)) console.warning(text);
            if (!options.plan.empty()) refuse_beside_plan(app);
            if (!options.plan.empty() && !options.measure.calibration_cache.empty()) {
              console.warning("--calibration-cache has no effect with --plan: the plan already holds its scales");
            }
            require_writable_file(options.output);
            const QuantizeResult result = quantize(options, console.sinks());
            print_result(console, line->json ? result_to_json(result) : result_to_text(result, text_options(console)));
            return exit_code_of(result);
          },
          ignored,
          /*spreads=*/true};
}

}  // namespace vernier::cli
