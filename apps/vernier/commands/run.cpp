
#include "vernier/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <string_view>

#include "base/text.h"
#include "commands/commands.h"
#include "console/console.h"
#include "options/comparison_options.h"
#include "options/engine_settings.h"
#include "options/external_data_options.h"
#include "options/gate_group.h"
#include "options/options.h"
#include "options/runner_options.h"
#include "scripts/script_location.h"
#include "vernier/error.h"
#include "vernier/error_code.h"
#include "vernier/format.h"
#include "vernier/onnx_model.h"
#include "vernier/quantize.h"
#include "vernier/report/gate.h"
#include "vernier/surgeon.h"

namespace vernier::cli {
namespace {

struct RunLine {
  std::vector<std::string> models;
  RunnerGroup runners;
  EngineSettingsGroup engine;
  DataGroup data;
  ComparisonGroup comparison;
  std::vector<std::string> load_outputs;
  std::string save_outputs, save_inputs, save_input_blob, save_onnx;
  ExternalDataGroup external;
  bool json = false, to_float16 = false;
  GateGroup gate;
  MessageGroup messages;
};

RunOptions options_of(const RunLine& line) {
  RunOptions options;
  // As with Polygraphy: a model without a runner beside saved runs, which alone are compared.
  const bool only_saved = line.runners.empty() && !line.load_outputs.empty();
  if (!only_saved) options.runners = line.runners.values(line.models);
  options.load_outputs.assign(line.load_outputs.begin(), line.load_outputs.end());
  options.measure = line.data.values();
  options.onnx_outputs = line.runners.onnx_outputs();
  options.trt_outputs = line.runners.trt_outputs();
  options.engine = line.engine.values();
  options.providers = line.runners.providers();
  options.optimization = line.runners.optimization();
  options.save_outputs = line.save_outputs;
  options.save_inputs = line.save_inputs;
  options.save_input_blobs = line.save_input_blob;
  options.save_accuracy = line.comparison.save_accuracy;
  options.compare = line.comparison.values();
  options.postprocess = line.comparison.postprocess();
  options.postprocess_script = line.comparison.postprocess_script;
  options.compare_script = line.comparison.compare_script;
  options.validate = line.comparison.validate;
  options.fail_fast = line.comparison.fail_fast;
  options.save_heatmaps = line.comparison.heatmaps;
  options.save_error_plots = line.comparison.error_plots;
  options.show_heatmaps = line.comparison.show_heatmaps;
  options.show_error_plots = line.comparison.show_error_plots;
  options.detail = line.messages.verbose > 0;
  options.each_iteration = line.messages.quiet < 2 || !line.messages.log_file.empty();
  options.statistics = line.messages.quiet == 0;
  return options;
}

/// Every runner gets the typed float16 file of its model, as Polygraphy converts what it loads.
void convert_models(RunOptions& options, const JobSinks& sinks) {
  std::map<std::string, OnnxModel> converted;
  for (RunnerOptions& runner : options.runners) {
    const std::string name = runner.model.name();
    if (!converted.contains(name)) {
      QuantizeOptions wanted;
      wanted.model = runner.model;
      wanted.precision.low = {Format::Float16};
      wanted.measure.external_data_dir = options.measure.external_data_dir;
      converted[name] = quantize(wanted, sinks).typed.model;
    }
    runner.model = converted.at(name);
  }
}

/// The model that the runners get, with the outputs that they give.
void save_model(const RunLine& line, const RunOptions& options, const JobSinks& sinks) {
  SanitizeOptions copy;
  copy.model = options.runners.empty() ? OnnxModel(line.models.front()) : options.runners.front().model;
  copy.output = line.save_onnx;
  copy.outputs = options.onnx_outputs;
  copy.external_data = line.external.values();
  copy.measure.external_data_dir = options.measure.external_data_dir;
  copy.measure.custom_operators = options.measure.custom_operators;
  sanitize_model(copy, sinks);
}

bool any_model_script(const std::vector<std::string>& models) {
  return std::any_of(models.begin(), models.end(), [](const std::string& model) { return script_location(model); });
}

/// Runs it; with --junit or --github continuous integration is told what `events` is told.
RunResult run_for_gate(const RunLine& line, const RunOptions& options, Console& console, const RunEvents& events) {
  if (!line.gate.given()) return run(options, console.sinks(), events);
  RunOptions with_verdicts = options;
  with_verdicts.each_iteration = true;
  RunGate gate;
  RunResult result = run(with_verdicts, console.sinks(), [&](const RunEvent& event) {
    gate(event);
    if (events) events(event);
  });
  line.gate.tell(gate.gate());
  return result;
}

std::string last_line(const RunResult& result, double seconds, const std::string& command) {
  return fmt::format("{} | Runtime: {:.3f}s | Command: {}", result.passed ? "[I] PASSED" : "[E] FAILED", seconds,
                     command);
}

}  // namespace

Command add_run(CLI::App& root, const std::string& command) {
  auto line = std::make_shared<RunLine>();
  CLI::App& app = add_command(root, "run",
                              "Run models, save their outputs, and compare each run with the next. The last run is the "
                              "reference: runners in the order of the command line, then saved runs");
  add_arguments(
      app, "MODEL", line->models,
      "ONNX files, float or typed, or scripts that make them: loader.py[:FUNC] (default: compare saved runs only)");
  line->runners.add(app);
  line->runners.add_outputs(app);
  line->engine.add(app);
  line->engine.add_workspace(app, "");
  line->data.add(app, "Samples to run on");
  line->data.add_calibration(app);
  add_value(app, "--save-inputs,--save-input-data", line->save_inputs, "FILE",
            "Save the samples: JSON in Polygraphy's format, or a folder if FILE has no extension (default: none)")
      .writes()
      .group("Saved runs");
  add_value(app, "--save-input-blob", line->save_input_blob, "DIR",
            "Save the samples as raw bytes, without shapes and types: DIR/0000000000/INPUT.bin (default: none)")
      .writes()
      .group("Saved runs");
  add_value(app, "--save-outputs,--save-results", line->save_outputs, "FILE",
            "Save the outputs of all runners: .npz, a folder if FILE has no extension, otherwise JSON (default: none)")
      .writes()
      .group("Saved runs");
  add_value(app, "--save-onnx", line->save_onnx, "FILE",
            "Save the model that is run, with the outputs of --onnx-outputs (default: none)")
      .writes()
      .group("Saved runs");
  line->external.add(app);
  add_flag(app, "--fp-to-fp16", line->to_float16,
           "Convert the models to FP16 first, for all runners: vernier convert --fp16")
      .group("Runners");
  add_values(app, "--load-outputs,--load-results,--golden", line->load_outputs, "FILE",
             "Compare with saved runs, which follow the runners (default: none)")
      .group("Saved runs");
  line->comparison.add(app);
  line->comparison.add_pictures(app);
  add_flag(app, "--json", line->json, "Print verdicts and figures as JSON, and nothing else, on stdout")
      .group("Output");
  line->gate.add(app);
  add_message_options(app, line->messages);
  const IgnoredOptions ignored = add_ignored_options(app);
  add_footer(
      app,
      "Example: vernier run model.onnx --sim --int8 --onnxrt --data samples.npz --compare sqnr\nExample: vernier run "
      "typed.onnx --sim --load-outputs golden.json --data samples.npz\nExit code: 0 all passed, or nothing to compare; "
      "1 a comparison failed; 2 usage; 3 input; 4 backend; 70 internal error; 130 interrupted");

  return {&app,
          &line->messages,
          [line, command](Console& console) {
            for (const std::string& text : line->data.without_effect(
                     line->runners.any_script() || line->runners.any_process() || any_model_script(line->models) ||
                     !line->comparison.compare_script.empty() || !line->comparison.postprocess_script.empty()))
              console.warning(text);
            for (const std::string& text : line->comparison.without_effect()) console.warning(text);
            if (line->runners.empty() && !line->load_outputs.empty() && !line->models.empty()) {
              console.warning(fmt::format("{} is not run: no runner was chosen, so only saved runs are compared",
                                          printable(line->models.front())));
            }
            RunOptions options = options_of(*line);
            if (line->save_onnx.empty() && line->external.given()) {
              throw Error(ErrorCode::MissingArgument,
                          "options for external data without --save-onnx: no model would be written",
                          "add --save-onnx FILE.onnx");
            }
            if (!line->save_onnx.empty()) {
              if (line->models.size() != 1) {
                throw Error(ErrorCode::WithoutEffect, "--save-onnx saves one model, and there are several",
                            "vernier convert MODEL -o FILE.onnx");
              }
              require_writable_file(line->save_onnx);
            }
            if (line->to_float16) convert_models(options, console.sinks());
            if (!line->save_onnx.empty()) save_model(*line, options, console.sinks());
            for (const auto& path :
                 {options.save_inputs, options.save_outputs, options.save_accuracy, options.engine.save_engine}) {
              if (path.has_extension()) require_writable_file(path);
            }
            // A reader that leaves (| head) must not cost the file.
            if (!line->save_inputs.empty() || !line->save_outputs.empty()) ::signal(SIGPIPE, SIG_IGN);
            const auto start = std::chrono::steady_clock::now();
            const bool silent = line->messages.quiet > 1;
            line->gate.check();
            RunEvents events;
            if (!line->json) {
              ComparisonTextOptions text;
              text.color = text_options(console).color;
              text.detail = options.detail;
              text.verdicts_only = !options.statistics;
              events = RunText(text, [&](const std::string& part) {
                if (silent) return console.log_result(part);
                print_result(console, part);
              });
            }
            const RunResult result = run_for_gate(*line, options, console, events);
            const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
            const std::string last = last_line(result, seconds.count(), command);
            if (line->json) {
              print_result(console, result.accuracy.to_json(options.compare));
            } else if (!silent) {
              print_result(console, last);
            } else if (result.passed) {
              console.log_result(last);
            } else {
              console.error(ErrorCode::None, last.substr(std::string_view("[E] ").size()));
            }
            return result.passed ? 0 : 1;
          },
          ignored,
          /*spreads=*/false,
          &line->gate};
}

}  // namespace vernier::cli
